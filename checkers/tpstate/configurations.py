"""Configurations: parameters that are annotated with a dataclass of the tree, and what it derives from its fields."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from ..project.project import Project
from .values import Sym

_OF = "of class "


class Configurations:
    """The dataclasses of the tree by their dotted names."""

    def __init__(self, project: Project) -> None:
        self.found = {cls.dotted: cls for cls in project.classes() if cls.is_dataclass}


def class_tag(project: Project, holder: ClassFacts, annotation: ast.expr | None) -> tuple[str, ...]:
    """What says that an unknown object is a configuration of a class of the tree; empty for any other."""
    if annotation is None:
        return ()
    name = annotation.value if isinstance(annotation, ast.Constant) else as_code(annotation)
    ref = project.resolve(holder.module, name) if isinstance(name, str) and name.isidentifier() else None
    if not isinstance(ref, ClassFacts) or project.is_module_class(ref) or not ref.is_dataclass:
        return ()
    return (f"{_OF}{ref.dotted}",)


def derived(
    project: Project, owner: Sym, attr: str
) -> tuple[ClassFacts, ast.FunctionDef] | tuple[ClassFacts, ast.expr] | None:
    """The property, or the expression in `__post_init__`, that makes an attribute of a configuration."""
    tag = next((tag for tag in owner.tags if tag.startswith(_OF)), None)
    facts = project.knowledge(Configurations).found.get(tag.removeprefix(_OF)) if tag else None
    if facts is None:
        return None
    found = project.method(facts, attr)
    if found is not None:
        is_property = any(as_code(entry).endswith("property") for entry in found[1].decorator_list)
        return found if is_property else None
    later = project.method(facts, "__post_init__")
    made = [
        part.value
        for part in (later[1].body if later is not None else ())
        if isinstance(part, ast.Assign) and as_code(part.targets[0]) == f"self.{attr}"
    ]
    is_one = later is not None and len(made) == 1 and f"self.{attr}" not in as_code(made[0])
    return (later[0], made[0]) if is_one and later is not None else None

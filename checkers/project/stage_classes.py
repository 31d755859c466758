"""What a stage class says of itself: attributes, parameters, bases, methods."""

from __future__ import annotations

import ast

from ..facts.assignments import always_set
from ..facts.module import ClassFacts
from .project import External, Project
from .stages import Stage

_EMPTY_BASES = ("Module", "MegatronModule", "ABC", "Generic", "object")


def hidden_base(project: Project, cls: ClassFacts) -> bool:
    """Whether a base class outside the tree may define anything: all but the known Modules."""
    return any(
        isinstance(entry, External) and entry.dotted.rsplit(".", 1)[-1] not in _EMPTY_BASES
        for entry in project.mro(cls)
    ) or len(cls.node.bases) > sum(
        project.resolve_expression(cls.module, base) is not None for base in cls.node.bases
    )


def megatron_base(project: Project, cls: ClassFacts) -> str:
    """The dotted name of the MegatronModule it derives from, or an empty text."""
    for entry in project.mro(cls):
        dotted = entry.dotted
        if dotted.rsplit(".", 1)[-1] == "MegatronModule":
            return dotted
    return ""


def constructor(project: Project, cls: ClassFacts) -> tuple[ClassFacts, ast.FunctionDef] | None:
    """The `__init__` that runs, and the class that holds it."""
    return project.method(cls, "__init__")


def attributes_set(project: Project, cls: ClassFacts) -> set[str]:
    """Attributes an instance has for sure after its constructor: own, inherited, class-level, properties."""
    order = [entry for entry in project.mro(cls) if isinstance(entry, ClassFacts)]
    found = {name for entry in order for name in (*entry.constants, *entry.methods)}
    init = constructor(project, cls)
    if init is None:
        return found
    holder = [init[0]]

    def follow(name: str) -> ast.FunctionDef | None:
        if name != "super":
            method = project.method(cls, name)
            return method[1] if method is not None else None
        rest = order[order.index(holder[-1]) + 1 :]
        above = next((entry for entry in rest if "__init__" in entry.methods), None)
        if above is None:
            return None
        holder.append(above)
        return above.methods["__init__"]

    found |= always_set(init[1], follow)
    base = megatron_base(project, cls)
    if base:
        found |= {"config"}
        if "legacy" in base or ".model." in base:
            found |= {"share_embeddings_and_output_weights"}
    return found


def parameters(function: ast.FunctionDef) -> dict[str, ast.expr | None]:
    """Parameters with their defaults, `self` left out."""
    spec = function.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    defaults = [None] * (len(names) - len(spec.defaults)) + list(spec.defaults)
    found: dict[str, ast.expr | None] = dict(zip(names, defaults, strict=True))
    found.update(zip([arg.arg for arg in spec.kwonlyargs], spec.kw_defaults, strict=True))
    return dict(list(found.items())[1:])


def is_declared(stage: Stage) -> bool:
    """Whether the class is meant as a stage by name or map, not only by a `set_input_tensor`."""
    return stage.rank is not None or "stage" in stage.cls.name.lower()

"""Distributed modules and the originals that they were made from, by name and place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .project import Project
from .registries import registries

_FILE = re.compile(r"_?distributed", re.IGNORECASE)


def is_named_distributed(cls: ClassFacts) -> bool:
    """Whether the name says that a module class is split over ranks: `PanguDistributedFuser`."""
    return "Distributed" in cls.name


def distributed_classes(project: Project) -> list[ClassFacts]:
    """Module classes named so, in file order; found once."""
    return project.knowledge(_distributed_classes)


def _distributed_classes(project: Project) -> list[ClassFacts]:
    return [
        cls
        for cls in project.classes()
        if is_named_distributed(cls) and not project.is_framework(cls.module) and project.is_module_class(cls)
    ]


def original_of(project: Project, cls: ClassFacts) -> ClassFacts | None:
    """The class a distributed one was made from: the same name without `Distributed`, in the original's file, in its
    own file, or in one of the same folder."""
    name = cls.name.replace("Distributed", "", 1)
    path = original_path(cls.module.path)
    folder = cls.module.path.parent
    own = cls.module.classes.get(name)
    if own is not None:
        return own
    if path is not None and project.files.exists(path):
        module = project.module_at(path)
        if module is not None and name in module.classes:
            return module.classes[name]
    same = [m.classes[name] for m in project.modules if m.path.parent == folder and name in m.classes]
    return same[0] if len(same) == 1 else _registered_original(project, cls)


def _registered_original(project: Project, cls: ClassFacts) -> ClassFacts | None:
    """The class that the same registry names by the style without `Distributed`."""
    for registry in registries(project):
        for entry in registry.entries:
            if entry.target is cls and "Distributed" in entry.style:
                plain = entry.style.replace("Distributed", "", 1)
                return next((other.target for other in registry.entries if other.style == plain), None)
    return None


def original_path(path: Path) -> Path | None:
    """`pangufuser.py` for `pangudistributedfuser.py`; None where the name does not say distributed."""
    name = _FILE.sub("", path.stem, count=1).lstrip("_")
    return path.with_name(f"{name}.py") if name and name != path.stem else None


def used_names(function: ast.FunctionDef) -> set[str]:
    """The names a function reads; all of them where it takes its variables at once (`locals()`)."""
    return {
        node.id
        for node in walk(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    }


def handed_on(function: ast.FunctionDef) -> set[str]:
    """The names a function gives to the calls it makes."""
    found: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.Call):
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                found |= {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
    return found


def distributed_name(cls: ClassFacts) -> str:
    """`PanguDownSample` → `PanguDistributedDownSample`: the last two words of a name are not told apart for sure."""
    parts = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])", cls.name)
    return f"{parts[0]}Distributed{''.join(parts[1:])}" if len(parts) > 1 else f"{cls.name}Distributed"

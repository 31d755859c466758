"""Modules of a model with a distributed variant that nobody made a distributed counterpart of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .distributed import distributed_classes, is_named_distributed, original_of
from .project import External, Project
from .registries import registries, written_style

_VARIANT = re.compile(r"(.+)_distributed(_\d+stage)?$")
_MAX_BELOW = 200
_STAGE = re.compile(r"_?[sS]tage\d+$")


@dataclass(frozen=True, eq=False)
class Missing:
    """A class without a counterpart: its linear layer, the variant, and the call that uses the class there.

    `user` is the class around the call: one of the stages, or the original model where no stage names the style.
    """

    cls: ClassFacts
    layer: ast.Call
    variant: str
    user: ClassFacts
    use: ast.Call


def missing_counterparts(project: Project) -> list[Missing]:
    """Each such class once; found once."""
    return project.knowledge(_missing)


def _missing(project: Project) -> list[Missing]:
    targets = {e.style: e.target for r in registries(project) for e in r.entries if e.target is not None}
    originals = [original_of(project, cls) for cls in distributed_classes(project)]
    done = {id(cls) for cls in originals if cls is not None}
    found = []
    for model, variant, stages in _originals(project):
        used = {
            style: (stage, node)
            for stage in reversed(stages)
            for style, node in reversed(list(_styles(stage)))
        }
        for style, node in _styles(model):
            cls = targets.get(style)
            layer = _own_linear(project, cls) if cls is not None else None
            if cls is None or layer is None or id(cls) in done or is_named_distributed(cls):
                continue
            done.add(id(cls))
            found.append(Missing(cls, layer, variant, *used.get(style, (model, node))))
        for cls in _below(project, model, targets):
            layer = (
                _own_linear(project, cls) if id(cls) not in done and not is_named_distributed(cls) else None
            )
            chosen = next((use for use in _chosen(project) if targets.get(use[0]) is cls), None)
            if layer is not None and chosen is not None:
                done.add(id(cls))
                found.append(Missing(cls, layer, variant, *chosen[1:]))
    return found


def _below(project: Project, model: ClassFacts, targets: dict[str, ClassFacts]) -> Iterator[ClassFacts]:
    """The modules of a model's modules, by style or by name, itself and those it chooses itself left out."""
    seen, waiting = {id(model)}, [(model, 0)]
    while waiting:
        cls, depth = waiting.pop(0)
        parts = [targets.get(style) for style, _ in _styles(cls)]
        init = cls.methods.get("__init__")
        for node in walk(init) if init is not None else ():
            if isinstance(node, ast.Call):
                ref = project.resolve_expression(cls.module, node.func)
                parts.append(ref if isinstance(ref, ClassFacts) and project.is_module_class(ref) else None)
        for part in parts:
            if part is not None and id(part) not in seen and len(seen) < _MAX_BELOW:
                seen.add(id(part))
                waiting.append((part, depth + 1))
                if depth:
                    yield part


def _chosen(project: Project) -> Iterator[tuple[str, ClassFacts, ast.Call]]:
    """The styles that distributed modules choose."""
    for cls in distributed_classes(project):
        for style, node in _styles(cls):
            yield style, cls, node


def _originals(project: Project) -> Iterator[tuple[ClassFacts, str, list[ClassFacts]]]:
    """Plain models that have a distributed variant, in the folder beside theirs or as stages in the same file, with
    the classes of the variant, stages first."""
    folders: dict[Path, tuple[str, list[ClassFacts]]] = {}
    for module in project.modules:
        match = _VARIANT.match(module.path.parent.name)
        if match is not None and "models" in module.path.parts:
            name = module.path.parent.name
            folders.setdefault(module.path.parent.with_name(match[1]), (name, []))[1].extend(
                module.classes.values()
            )
    for module in project.modules:
        stages = [cls for cls in module.classes.values() if _STAGE.search(cls.name)]
        for cls in module.classes.values():
            if _STAGE.search(cls.name) or is_named_distributed(cls):
                continue
            own = [stage for stage in stages if re.fullmatch(rf"{cls.name}_?[sS]tage\d+", stage.name)]
            if own:
                yield cls, own[0].name, own
            elif (beside := folders.get(module.path.parent)) is not None:
                yield cls, beside[0], sorted(beside[1], key=lambda other: not _STAGE.search(other.name))


def _styles(model: ClassFacts) -> Iterator[tuple[str, ast.Call]]:
    for method in model.methods.values():
        for node in walk(method):
            style = written_style(node) if isinstance(node, ast.Call) else None
            if style is not None and isinstance(node, ast.Call):
                yield style, node


def _own_linear(project: Project, cls: ClassFacts) -> ast.Call | None:
    method = cls.methods.get("__init__")
    for node in walk(method) if method is not None else ():
        if isinstance(node, ast.Call):
            ref = project.resolve_expression(cls.module, node.func)
            if isinstance(ref, External) and ref.dotted in ("torch.nn.Linear", "torch.nn.MultiheadAttention"):
                return node
            if isinstance(ref, ClassFacts) and ref.name == "Mlp":
                return node
    return None

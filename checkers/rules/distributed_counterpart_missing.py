"""W7405"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..project.distributed import distributed_classes, is_named_distributed, original_of
from ..project.project import External, Project
from ..project.registries import registries
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_VARIANT = re.compile(r"(.+)_distributed(_\d+stage)?$")


class DistributedCounterpartMissing(Rule):
    """A model has a distributed variant, and a module of it with linear layers has none."""

    code, symbol = "W7405", "distributed-counterpart-missing"
    message = (
        "`%(cls)s` holds `%(layer)s` and has no distributed counterpart, though `%(variant)s` is distributed"
    )
    advice = "Create `%(wanted)s` beside %(path)s and register it, or allow the plain layer in the settings."
    why = "A module that nobody split stays whole on every rank, and nothing fails to tell so."
    symptom = Symptom.COST
    runtime = "no error: every TP rank holds and computes the whole module"
    limits = (
        "Only modules that the original model names by a constant style, with linear layers of their own."
    )
    guide = "Detection flow, step 1: the file table"
    scope = Scope.GUIDE

    # A model and its stages may share a file; the fixtures hold the usual case, two folders.
    bad = """
    from torch import nn


    class IceFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.linear = nn.Linear(dim, dim)


    class IceDistributedBlock(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Ice(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fuser = OneFuser(style="IceFuser", dim=dim)  # [distributed-counterpart-missing]


    class Ice_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor
    """
    good = """
    from torch import nn


    class IceFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.linear = nn.Linear(dim, dim)


    class IceDistributedFuser(nn.Module):
        def forward(self, x):
            return x


    _FUSER_REGISTRY = {"IceFuser": IceFuser, "IceDistributedFuser": IceDistributedFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Ice(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fuser = OneFuser(style="IceFuser", dim=dim)


    class Ice_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        targets = {e.style: e.target for r in registries(project) for e in r.entries if e.target is not None}
        split = {
            id(original)
            for cls in distributed_classes(project)
            for original in [original_of(project, cls)]
            if original
        }
        done: set[int] = set()
        for model, variant in _originals(project):
            for style, node in _styles(model):
                cls = targets.get(style)
                if cls is None or id(cls) in split | done or is_named_distributed(cls):
                    continue
                layer = _own_linear(project, cls)
                if layer is None:
                    continue
                done.add(id(cls))
                yield self.finding(
                    place_of(model.module, node),
                    object=model.name,
                    evidence=(Evidence(cls.module.display, layer.lineno, f"`{cls.name}` builds it here"),),
                    cls=cls.name,
                    layer=ast.unparse(layer.func),
                    variant=variant,
                    wanted=_wanted(cls),
                    path=cls.module.display,
                )


def _originals(project: Project) -> Iterator[tuple[ClassFacts, str]]:
    """Plain models that have a distributed variant: in the folder beside theirs, or as stages in the same file."""
    folders: dict[Path, str] = {}
    for module in project.modules:
        match = _VARIANT.match(module.path.parent.name)
        if match is not None and "models" in module.path.parts:
            folders.setdefault(module.path.parent.with_name(match[1]), module.path.parent.name)
    for module in project.modules:
        stages = [cls.name for cls in module.classes.values() if re.search(r"_?[sS]tage\d+$", cls.name)]
        for cls in module.classes.values():
            if cls.name in stages or is_named_distributed(cls):
                continue
            own = next((name for name in stages if re.fullmatch(rf"{cls.name}_?[sS]tage\d+", name)), None)
            beside = folders.get(module.path.parent)
            if own is not None or beside is not None:
                yield cls, own or str(beside)


def _styles(model: ClassFacts) -> Iterator[tuple[str, ast.Call]]:
    for method in model.methods.values():
        for node in walk(method):
            if isinstance(node, ast.Call):
                for keyword in node.keywords:
                    if keyword.arg == "style" and isinstance(keyword.value, ast.Constant):
                        yield str(keyword.value.value), node


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


def _wanted(cls: ClassFacts) -> str:
    """`PanguDownSample` → `PanguDistributedDownSample`: the last two words of a name are not told apart for sure."""
    parts = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])", cls.name)
    return f"{parts[0]}Distributed{''.join(parts[1:])}" if len(parts) > 1 else f"{cls.name}Distributed"

"""W7227"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.project import Project, dotted_name
from ..project.stage_classes import hidden_base, is_declared
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import remove_statement, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DYNAMIC = re.compile(r"getattr\(self|\.(named_)?children\(|\.(named_)?modules\(|\._modules\b|__dict__")
_WITHOUT_PARAMETERS = re.compile(
    r"Identity|Dropout|DropPath|ReLU|GELU|SiLU|Softmax|Sigmoid|Tanh|Pad|Loss|Flatten|Pool|Upsample$"
)


class StageModuleUnused(Rule):
    """A stage builds a submodule that it never calls."""

    code, symbol = "W7227", "stage-module-unused"
    message = "`%(cls)s` builds `self.%(name)s` and never uses it"
    advice = "Build it on the stage that calls it, or remove it."
    why = (
        "It takes memory on the wrong rank, and its parameters get no gradient: data-parallel reduction waits "
        "for them or the optimizer decays them."
    )
    symptom = Symptom.TRAP
    runtime = (
        "RuntimeError: parameters that were not used in producing loss; or memory of a layer that does "
        "nothing"
    )
    limits = (
        "Silent where submodules are reached by name (`getattr`, `children`), used by the training script, or "
        "without parameters."
    )
    guide = "1.1: what belongs to which stage"
    fix_kind = "unsafe"
    fix_note = (
        "Checkpoints lose its parameters, and building it may have drawn random numbers that others follow."
    )

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            self.downsample = nn.Linear(dim, 2 * dim)  # [stage-module-unused]

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)
    """
    good = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)
            self.downsample = nn.Linear(dim, 2 * dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.downsample(self.layer(x))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for stage in project.knowledge(Stages):
            cls = stage.cls
            init = cls.methods.get("__init__")
            if (
                init is None
                or not is_declared(stage)
                or hidden_base(project, cls)
                or _DYNAMIC.search(cls.text)
            ):
                continue
            built = [(node, name) for node in walk(init) if (name := _built(project, cls, node)) is not None]
            read = _names_read(project, cls) if built else set()
            outside = "\n".join(found.module.text for found in stage.family.maps)
            for node, name in built:
                if name not in read and f".{name}" not in outside:
                    fix = unsafe(remove_statement(cls.module, node)) if isinstance(node, ast.stmt) else None
                    where = place_of(cls.module, node)
                    yield self.finding(where, object=cls.name, fix=fix, cls=cls.name, name=name)


def _built(project: Project, cls: ClassFacts, node: ast.AST) -> str | None:
    """The attribute that a statement binds to a new module with parameters."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    target, made = node.targets[0], dotted_name(node.value.func)
    if not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self" or made is None:
        return None
    last = made.rsplit(".", 1)[-1]
    if not last[:1].isupper() or last.isupper() or _WITHOUT_PARAMETERS.search(last):
        return None
    ref = project.resolve(cls.module, made)
    if isinstance(ref, ClassFacts):
        return target.attr if project.is_module_class(ref) else None
    dotted = getattr(ref, "dotted", "")
    return target.attr if ".nn." in dotted or "Parallel" in last or last.startswith("One") else None


def _names_read(project: Project, cls: ClassFacts) -> set[str]:
    """Attributes that are read, or named in a text, in the class, its bases or the classes derived from it."""
    family = [entry for entry in project.mro(cls) if isinstance(entry, ClassFacts)]
    derived = [other for other in project.knowledge(_by_base).get(cls.name, ()) if cls in project.mro(other)]
    found: set[str] = set()
    for entry in [*family, *derived]:
        for node in walk(entry.node):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
                found.add(node.value.split(".")[0])
    return found


def _by_base(project: Project) -> dict[str, list[ClassFacts]]:
    """The classes that name a base, by the last part of its name."""
    found: dict[str, list[ClassFacts]] = {}
    for cls in project.classes():
        for base in cls.node.bases:
            found.setdefault((dotted_name(base) or "").rsplit(".", 1)[-1], []).append(cls)
    return found

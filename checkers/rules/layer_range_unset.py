"""W7249"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..project.stage_classes import parameters
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_START = re.compile(r"(layer|block|stage)_?(start|begin|first)|(start|begin|first)_?(layer|block)(_id(x)?)?")
_DEPTH = re.compile(
    r"(num_|n_)?(layers|blocks)|\w*depth|(processor|encoder|decoder|trunk)_size|num_\w*(layers|blocks)"
)
_STAGED = re.compile(r"pipeline_model_parallel|is_pipeline_|\bpp_rank|\bpp_size")


class LayerRangeUnset(Rule):
    """A stage builds the default range of layers, whatever depth it is given."""

    code, symbol = "W7249", "layer-range-unset"
    message = (
        "`%(cls)s` builds layers %(first)d to %(last)d here whatever `%(depth)s` is: `%(start)s` and `%(end)s` have "
        "their defaults"
    )
    advice = "Give it its range: `%(start)s=0, %(end)s=%(value)s`."
    why = (
        "The class cuts its layers by the range, not by the depth that is given beside it. Left at the defaults, the "
        "range is a number in the code, and the option for the depth changes nothing."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the model has as many layers as the default says."
    limits = (
        "A class whose constructor loops over `range(start, end)` of two parameters with numbers as defaults, and is "
        "given a depth that it builds nothing with. Silent where the range is given, or set afterwards."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The model has another number of layers from then on."

    bad = """
    from megatron.core import mpu
    from torch import nn


    class Trunk(nn.Module):
        def __init__(self, num_layers, dim, layer_start=0, layer_end=8):
            super().__init__()
            self.num_layers = num_layers
            self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layer_start, layer_end)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x


    class Net(nn.Module):
        def __init__(self, num_layers=12, dim=64):
            super().__init__()
            size = mpu.get_pipeline_model_parallel_world_size()
            if size == 1:
                self.trunk = Trunk(num_layers=num_layers, dim=dim)  # [layer-range-unset]
            else:
                each = num_layers // size
                start = mpu.get_pipeline_model_parallel_rank() * each
                self.trunk = Trunk(num_layers=num_layers, dim=dim, layer_start=start, layer_end=start + each)

        def forward(self, x):
            return self.trunk(x)
    """
    good = """
    from megatron.core import mpu
    from torch import nn


    class Trunk(nn.Module):
        def __init__(self, num_layers, dim, layer_start=0, layer_end=8):
            super().__init__()
            self.num_layers = num_layers
            self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layer_start, layer_end)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x


    class Net(nn.Module):
        def __init__(self, num_layers=12, dim=64):
            super().__init__()
            size = mpu.get_pipeline_model_parallel_world_size()
            if size == 1:
                self.trunk = Trunk(num_layers=num_layers, dim=dim, layer_start=0, layer_end=num_layers)
            else:
                each = num_layers // size
                start = mpu.get_pipeline_model_parallel_rank() * each
                self.trunk = Trunk(num_layers=num_layers, dim=dim, layer_start=start, layer_end=start + each)

        def forward(self, x):
            return self.trunk(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        ranges = {id(cls): found for cls in _staged(project) if (found := _range(project, cls)) is not None}
        if not ranges:
            return
        for frame in functions(project, _STAGED):
            for node in frame.scope.nodes:
                cls = _built(node, frame)
                if cls is not None and id(cls) in ranges and isinstance(node, ast.Call):
                    yield from self._call(frame, node, cls, ranges[id(cls)])

    def _call(
        self,
        frame: Frame,
        call: ast.Call,
        cls: ClassFacts,
        held: tuple[str, str, ast.For | ast.comprehension],
    ) -> Iterator[Finding]:
        start, end, loop = held
        given = {word.arg: word.value for word in call.keywords}
        depth = next((name for name in given if name is not None and _DEPTH.fullmatch(name)), None)
        if depth is None or None in given or call.args or {start, end} & set(given):
            return
        found = frame.project.method(cls, "__init__")
        if found is None:
            return
        if _builds_with(found[1], depth):
            return
        defaults = parameters(found[1])
        first, last = defaults[start], defaults[end]
        if not isinstance(first, ast.Constant) or not isinstance(last, ast.Constant):
            return
        typed = f", {start}={ast.unparse(first)}, {end}={ast.unparse(given[depth])}"
        yield self.finding(
            place_of(frame.module, call),
            object=frame.cls.name if frame.cls is not None else "",
            evidence=(
                Evidence(
                    cls.module.display, loop.iter.lineno, tr("`%(cls)s` builds its layers here", cls=cls.name)
                ),
            ),
            fix=unsafe(insert_after(frame.module, call.keywords[-1].value, typed)),
            cls=cls.name,
            first=first.value,
            last=last.value - 1,  # type: ignore[operator]
            depth=depth,
            start=start,
            end=end,
            value=ast.unparse(given[depth]),
        )


def _staged(project: Project) -> Iterator[ClassFacts]:
    for module in project.modules:
        if "range(" in module.text and not project.is_framework(module):
            yield from module.classes.values()


def _range(project: Project, cls: ClassFacts) -> tuple[str, str, ast.For | ast.comprehension] | None:
    """The two parameters with numbers as defaults that a constructor loops between, and the loop."""
    init = cls.methods.get("__init__")
    if init is None or not project.is_module_class(cls):
        return None
    defaults = parameters(init)
    for node in walk(init):
        if not isinstance(node, ast.For | ast.comprehension) or not isinstance(node.iter, ast.Call):
            continue
        args = node.iter.args
        is_range = isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        if is_range and len(args) == 2 and all(isinstance(arg, ast.Name) for arg in args):
            start, end = ast.unparse(args[0]), ast.unparse(args[1])
            if _START.fullmatch(start) and _is_number(defaults.get(start)) and _is_number(defaults.get(end)):
                return start, end, node
    return None


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _built(node: ast.AST, frame: Frame) -> ClassFacts | None:
    ref = frame.ref(node.func) if isinstance(node, ast.Call) else None
    return ref if isinstance(ref, ClassFacts) else None


def _builds_with(init: ast.FunctionDef, name: str) -> bool:
    """Whether a constructor does more with a parameter than to keep it."""
    kept = {
        id(node.value)
        for node in walk(init)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
    }
    return any(isinstance(node, ast.Name) and node.id == name and id(node) not in kept for node in walk(init))

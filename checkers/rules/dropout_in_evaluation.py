"""E7626"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import External, FunctionRef, Project, dotted_name
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MODE = re.compile(r"training|\beval\b|inference|deterministic")
_RATE = re.compile(r"drop")
_PATH = re.compile(r"^(DropPath|StochasticDepth)")
_DRAWS = re.compile(r"\.bernoulli_?\(|\brand\(|\.uniform_\(")


class DropoutInEvaluation(Rule):
    """A function drops values at a rate that the model has, and nothing asks whether it is training."""

    code, symbol = "E7626", "dropout-in-evaluation"
    message = "%(what)s drops in evaluation too: nothing asks for `self.training`"
    advice = "Give it `%(rate)s if self.training else 0.0`, or the module's mode: `training=self.training`."
    why = (
        "`nn.Dropout` stops in `eval()`. Functions do not know the mode of a module: they drop at the rate that "
        "they are given, so that validation and inference compute with noise."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: validation is worse than it should be, and two runs of one input differ"
    limits = (
        "Rates that a module keeps as a number, handed to torch's functions or to functions of the tree. Silent in "
        "classes and functions that speak of training or evaluation, and where the rate is not kept by the class."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn
    from torch.nn import functional as F


    class Mixer(nn.Module):
        def __init__(self, dim, attn_drop, config):
            super().__init__()
            self.attn_drop = attn_drop
            self.qkv = ColumnParallelLinear(
                dim, 3 * dim, config=config, init_method=config.init_method, gather_output=True
            )

        def forward(self, x):
            q, k, v = self.qkv(x)[0].chunk(3, dim=-1)
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.attn_drop)  # [dropout-in-evaluation]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn
    from torch.nn import functional as F


    class Mixer(nn.Module):
        def __init__(self, dim, attn_drop, config):
            super().__init__()
            self.attn_drop = attn_drop
            self.qkv = ColumnParallelLinear(
                dim, 3 * dim, config=config, init_method=config.init_method, gather_output=True
            )

        def forward(self, x):
            q, k, v = self.qkv(x)[0].chunk(3, dim=-1)
            rate = self.attn_drop if self.training else 0.0
            return F.scaled_dot_product_attention(q, k, v, dropout_p=rate)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for cls in [cls for module in project.read for cls in module.classes.values()]:
            if (
                not _RATE.search(cls.text.lower())
                or _MODE.search(cls.text)
                or project.is_framework(cls.module)
            ):
                continue
            if not project.is_module_class(cls) or "forward" not in cls.methods:
                continue
            forward = cls.methods["forward"]
            if _PATH.match(cls.name) and _DRAWS.search(cls.module.text_of(forward)):
                yield self.finding(
                    place_of(cls.module, forward),
                    object=cls.name,
                    advice="Begin with `if not self.training: return x`.",
                    what=f"`{cls.name}`",
                    rate="rate",
                )
                continue
            rates = {kept for kept, given in _rates(cls) if not _is_never_given(project, cls, given)}
            for method in cls.methods.values() if rates else ():
                yield from self._method(project, cls, method, rates)

    def _method(
        self, project: Project, cls: ClassFacts, method: ast.FunctionDef, rates: set[str]
    ) -> Iterator[Finding]:
        named = {
            target.id: as_code(node.value)
            for node in walk(method)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and as_code(node.value) in rates
        }
        for node in walk(method) if method.name != "__init__" else ():
            if not isinstance(node, ast.Call):
                continue
            for parameter, value in _drops(project, cls.module, node):
                rate = named.get(as_code(value), as_code(value))
                if rate in rates:
                    what = tr("`%(call)s` at `%(name)s`", call=as_code(node.func), name=parameter)
                    yield self.finding(place_of(cls.module, node), object=cls.name, what=what, rate=rate)
                    break


def _rates(cls: ClassFacts) -> Iterator[tuple[str, str]]:
    """Attributes named like a dropout rate, and the parameter of the constructor that each keeps as it is."""
    init = cls.methods.get("__init__")
    if init is None:
        return
    given = {arg.arg for arg in (*init.args.args, *init.args.kwonlyargs)}
    for node in walk(init):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given:
            for target in node.targets:
                name = dotted_name(target) or ""
                if name.startswith("self.") and _RATE.search(name):
                    yield name, node.value.id


def _is_never_given(project: Project, cls: ClassFacts, name: str) -> bool:
    """Whether the rate is none by default, and calls in the tree give no other."""
    arguments = cls.methods["__init__"].args
    names = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)][1:]
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    defaults |= {
        arg.arg: value
        for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    }
    if name not in defaults or not _is_none(defaults[name]):
        return False
    calls = 0
    for module in project.modules:
        for node in walk(module.tree) if cls.name in module.words else ():
            if isinstance(node, ast.ClassDef) and any(_last(base) == cls.name for base in node.bases):
                return False
            if isinstance(node, ast.Call) and _last(node.func) == cls.name:
                given = {
                    **dict(zip(names, node.args, strict=False)),
                    **{word.arg or "**": word.value for word in node.keywords},
                }
                calls += 1
                if "**" in given or not _is_none(given.get(name, defaults[name])):
                    return False
    return calls > 0


def _last(node: ast.expr) -> str:
    return as_code(node).rsplit(".", 1)[-1]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, None)


def _drops(project: Project, module: ModuleFacts, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The rates that a call drops at, whatever the mode: of torch's functions, or of a function of the tree."""
    ref = project.resolve_expression(module, node.func)
    given = {word.arg: word.value for word in node.keywords if word.arg}
    if isinstance(ref, External):
        name = ref.dotted.rsplit(".", 1)[-1]
        if name == "scaled_dot_product_attention" and "dropout_p" in given:
            yield "dropout_p", given["dropout_p"]
        elif ref.dotted.startswith("torch.nn.functional.dropout") and "training" not in given:
            rate = given.get("p") or (node.args[1] if len(node.args) == 2 else None)
            if rate is not None:
                yield "p", rate
    elif isinstance(ref, FunctionRef) and not _MODE.search(ref.module.text_of(ref.node)):
        names = [arg.arg for arg in (*ref.node.args.posonlyargs, *ref.node.args.args)]
        given = {**dict(zip(names, node.args, strict=False)), **given}
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            return
        for name, value in given.items():
            if name in ("dropout", "dropout_p", "attn_drop", "drop_rate") and _is_used(ref, name):
                yield name, value


def _is_used(ref: FunctionRef, name: str) -> bool:
    """Whether a function hands the rate on to another call, so that something drops at it."""
    calls = [node for node in walk(ref.node) if isinstance(node, ast.Call)]
    given = [part for call in calls for part in (*call.args, *(word.value for word in call.keywords))]
    return any(as_code(part) == name for part in given)

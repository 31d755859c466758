"""W7316"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..finding import Edit, Evidence, Finding
from ..language import tr
from ..project.project import FunctionRef, Project, dotted_name
from ..project.training import Training
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_CONFIG = re.compile(r"(self\.)?_?(cfg|conf|config|args|params|opts?|hparams|yaml)\w*")


_SIZES = re.compile(r"tensor_(model_)?parallel_size\s*=")
_TENSOR = ("tensor_model_parallel_size", "tensor_parallel_size")
_PIPELINE = ("pipeline_model_parallel_size", "pipeline_parallel_size")


def _says(word: str, other: str) -> Callable[[ast.expr], bool]:
    own, against = re.compile(word), re.compile(other)

    def says(node: ast.expr) -> bool:
        name = (dotted_name(node) or "").rsplit(".", 1)[-1]
        return own.search(name) is not None and against.search(name) is None

    return says


_PIPELINE_WORD, _TENSOR_WORD = r"pipe|(^|_)pp(_|$)", r"tensor|(^|_)tp(_|$)"
_IS_PIPELINE, _IS_TENSOR = _says(_PIPELINE_WORD, _TENSOR_WORD), _says(_TENSOR_WORD, _PIPELINE_WORD)


class ArgumentOfAnotherName(Rule):
    """Two arguments of a call carry each other's parameter names."""

    code, symbol = "W7316", "argument-of-another-name"
    message = (
        "`%(call)s` gets `%(one)s` for its parameter `%(first)s` and `%(other)s` for `%(second)s`: swapped"
    )
    advice = "Write `%(typed)s`, or, where the exchange is meant, give the variables names that say so."
    why = "Both are numbers of one kind, so nothing checks them; the model is built or computed with the wrong ones."
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "a shape error at best; two rates or two sizes of equal value class exchanged, silently, at worst"
    )
    limits = (
        "Only where the names are exactly those of the two parameters, the other way round, and the callee is "
        "seen. Silent in functions that undo or mirror something by their name, and for calls of functions and "
        "blocks where another call beside it has the two in their order: there and back, or each from the other."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The exchange may be meant, and the names wrong."

    bad = """
    from torch import nn


    def merge_windows(x, input_resolution, output_resolution):
        return x.reshape(*input_resolution, -1)[: output_resolution[0]]


    class DistributedDown(nn.Module):
        def __init__(self, input_resolution, output_resolution):
            super().__init__()
            self.input_resolution = input_resolution
            self.output_resolution = output_resolution

        def forward(self, x):
            return merge_windows(x, self.output_resolution, self.input_resolution)  # [argument-of-another-name]
    """
    good = """
    from torch import nn


    def merge_windows(x, input_resolution, output_resolution):
        return x.reshape(*input_resolution, -1)[: output_resolution[0]]


    class DistributedDown(nn.Module):
        def __init__(self, input_resolution, output_resolution):
            super().__init__()
            self.input_resolution = input_resolution
            self.output_resolution = output_resolution

        def forward(self, x):
            return merge_windows(x, self.input_resolution, self.output_resolution)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in project.modules:
            for cls in module.classes.values():
                if project.is_module_class(cls) and not project.is_framework(module):
                    for function in cls.methods.values():
                        if not _mirrors(cls.name):
                            yield from self._calls(project, module, cls, function)
        for script in project.knowledge(Training):
            for scope in script.top.functions.values():
                if scope.function is not None:
                    yield from self._calls(project, script.module, None, scope.function)
        for frame in functions(project, _SIZES):
            for call in frame.scope.calls:
                yield from self._sizes(frame, call)

    def _sizes(self, frame: Frame, call: ast.Call) -> Iterator[Finding]:
        """`tensor_model_parallel_size=pipeline_parallel, pipeline_model_parallel_size=tensor_parallel`"""
        held = {k.arg: k.value for k in call.keywords if k.arg in _TENSOR + _PIPELINE}
        tensor = next((held[name] for name in _TENSOR if name in held), None)
        pipeline = next((held[name] for name in _PIPELINE if name in held), None)
        if tensor is None or pipeline is None or not (_IS_PIPELINE(tensor) and _IS_TENSOR(pipeline)):
            return
        one, other = ast.unparse(tensor), ast.unparse(pipeline)
        yield self.finding(
            place_of(frame.module, call),
            object=frame.function_name,
            fix=unsafe(replace(frame.module, tensor, other), replace(frame.module, pipeline, one)),
            call=ast.unparse(call.func),
            one=one,
            first=_TENSOR[0],
            other=other,
            second=_PIPELINE[0],
            typed=f"{_TENSOR[0]}={other}, {_PIPELINE[0]}={one}",
        )

    def _calls(
        self, project: Project, module: ModuleFacts, cls: ClassFacts | None, function: ast.FunctionDef
    ) -> Iterator[Finding]:
        if _mirrors(function.name):
            return
        for node in walk(function):
            if type(node) is not ast.Call or len(node.args) + len(node.keywords) < 2:
                continue
            callee = _callee(project, module, cls, node) if len(node.args) > 1 else None
            given = _given(node, callee[1] if callee is not None else [])
            for first, name in given.items():
                if name != first and given.get(name) == first and first < name:
                    if not _builds(project, module, node) and _is_given_straight(
                        project, module, cls, function, first, name, ast.unparse(node.func)
                    ):
                        continue  # there and back, or one from the other and the other from the one
                    if _are_opposites(first, name) and any(
                        _is_given_straight(project, module, holder, method, first, name)
                        for holder, method in _methods(module)
                    ):
                        continue  # the way back of an exchange
                    yield self.finding(
                        place_of(module, node),
                        object=cls.name if cls is not None else function.name,
                        fix=unsafe(*_exchanged(module, node, first, name)),
                        evidence=() if callee is None else (callee[0],),
                        call=ast.unparse(node.func),
                        one=name,
                        first=first,
                        other=first,
                        second=name,
                        typed=f"{first}={ast.unparse(_value(node, first))}, {name}={ast.unparse(_value(node, name))}",
                    )


def _builds(project: Project, module: ModuleFacts, node: ast.Call) -> bool:
    dotted = dotted_name(node.func)
    return dotted is not None and isinstance(project.resolve(module, dotted), ClassFacts)


def _is_given_straight(
    project: Project,
    module: ModuleFacts,
    cls: ClassFacts | None,
    function: ast.FunctionDef,
    first: str,
    second: str,
    same: str = "",
) -> bool:
    """Whether another call of the function gives both names to the parameters of these names, or one to `same`."""
    for node in walk(function):
        if isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1:
            callee = _callee(project, module, cls, node) if len(node.args) > 1 else None
            given = _given(node, callee[1] if callee is not None else [])
            straight = [given.get(name) == name for name in (first, second)]
            if all(straight) or (any(straight) and ast.unparse(node.func) == same):
                return True  # one of them: the second of two products has the outer size of the first inside
    return False


_OPPOSITES = (
    ("scatter", "gather"),
    ("send", "recv"),
    ("src", "dst"),
    ("split", "concat"),
    ("split", "cat"),
    ("in", "out"),
)


def _are_opposites(one: str, other: str) -> bool:
    """Whether two names differ by a direction alone: `scatter_idx` and `gather_idx`."""
    return any(
        one.replace(here, there) == other or other.replace(here, there) == one
        for here, there in _OPPOSITES
        if here in one or here in other
    )


def _methods(module: ModuleFacts) -> Iterator[tuple[ClassFacts | None, ast.FunctionDef]]:
    for cls in module.classes.values():
        for method in cls.methods.values():
            yield cls, method


def _mirrors(name: str) -> bool:
    return any(
        word in name.lower()
        for word in ("inverse", "reverse", "undo", "swap", "mirror", "transpose", "backward")
    )


def _name(node: ast.expr) -> str | None:
    """`x` of `x`, of `self.x` and of `cfg.x`."""
    dotted = dotted_name(node)
    if dotted is None:
        return None
    holder, _, name = dotted.rpartition(".")
    return name if holder in ("", "self") or _CONFIG.fullmatch(holder) else None


def _given(node: ast.Call, positional: list[str]) -> dict[str, str]:
    """Parameters of a call and the names of the variables they get."""
    pairs = [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None]
    if not any(isinstance(argument, ast.Starred) for argument in node.args):
        pairs += list(zip(positional, node.args, strict=False))
    named = ((parameter, _name(value)) for parameter, value in pairs)
    return {parameter: name for parameter, name in named if name is not None}


def _value(node: ast.Call, name: str) -> ast.expr:
    """The expression of a call whose name this is."""
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return next(value for value in values if _name(value) == name)


def _exchanged(module: ModuleFacts, node: ast.Call, first: str, second: str) -> tuple[Edit, Edit]:
    one, other = _value(node, first), _value(node, second)
    return replace(module, one, ast.unparse(other)), replace(module, other, ast.unparse(one))


def _callee(
    project: Project, module: ModuleFacts, cls: ClassFacts | None, node: ast.Call
) -> tuple[Evidence, list[str]] | None:
    """Where the called function is defined, and its positional parameters without `self`."""
    dotted = dotted_name(node.func) or ""
    found: tuple[ModuleFacts, ast.FunctionDef, bool] | None = None
    if dotted.startswith("self.") and dotted.count(".") == 1:
        method = project.method(cls, dotted[5:]) if cls is not None else None
        found = (method[0].module, method[1], True) if method is not None else None
    else:
        ref = project.resolve(module, dotted) if dotted else None
        if isinstance(ref, FunctionRef) and isinstance(ref.node, ast.FunctionDef):
            found = (ref.module, ref.node, False)
        elif isinstance(ref, ClassFacts):
            method = project.method(ref, "__init__")
            found = (method[0].module, method[1], True) if method is not None else None
    if found is None:
        return None
    where, function, bound = found
    static = any(dotted_name(mark) == "staticmethod" for mark in function.decorator_list)
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)][bound and not static :]
    text = tr("`%(function)s` takes (%(names)s)", function=function.name, names=", ".join(names))
    return Evidence(where.display, function.lineno, text), names

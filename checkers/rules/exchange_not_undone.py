"""E7763"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Edit, Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_EXCHANGES = re.compile(r"all_?to_?all|\ba2a\b|_a2a\b", re.IGNORECASE)
_ATTENDS = re.compile(r"attn|attention|softmax|core|flash|sdpa", re.IGNORECASE)
_SWAPS = re.compile(r"all_?to_?all|a2a", re.IGNORECASE)
_COUNTS = re.compile(r"split|count|size|send|recv|sent|got|input|output")


class ExchangeNotUndone(Rule):
    """What attention gives is exchanged between the ranks as its inputs were, not the other way round."""

    code, symbol = "E7763", "exchange-not-undone"
    message = "`%(text)s` exchanges the same dimensions as line %(line)s, and what it gets has them exchanged already"
    advice = "Give the dimension that is split and the one that is gathered the other way round: `%(typed)s`."
    why = (
        "The exchange before attention gives each rank all tokens of some heads. The one behind it must gather the "
        "heads and split the tokens."
    )
    symptom = Symptom.CRASH
    runtime = "a shape error in the next layer, or heads that are split twice and tokens that are there twice"
    limits = (
        "For a function whose name speaks of all-to-all, called with two constant dimensions on each input of one "
        "attention call, and with the same two on its output, in one function."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The first of the two exchanges may be the wrong one."
    bad = """
    import torch
    import torch.distributed as dist


    def all_to_all(x, split, gather, group):
        size = dist.get_world_size(group)
        sent = [part.contiguous() for part in x.chunk(size, dim=split)]
        got = [torch.empty_like(sent[0]) for _ in range(size)]
        dist.all_to_all(got, sent, group=group)
        return torch.cat(got, dim=gather)


    def attend(attention, q, k, v, group):
        q = all_to_all(q, 2, 1, group)
        k = all_to_all(k, 2, 1, group)
        v = all_to_all(v, 2, 1, group)
        out = attention(q, k, v)
        return all_to_all(out, 2, 1, group)  # [exchange-not-undone]
    """
    good = bad.replace(
        "return all_to_all(out, 2, 1, group)  # [exchange-not-undone]", "return all_to_all(out, 1, 2, group)"
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _SWAPS):
            for first, second, sizes in _sent_alike(frame):
                text = tr("`%(call)s`", call=as_code(first))
                yield self.finding(
                    place_of(frame.module, second),
                    object=frame.function_name,
                    evidence=(Evidence(frame.module.display, first.lineno, text),),
                    text=as_code(second),
                    line=first.lineno,
                    typed=as_code(second).replace(f"{sizes[0]}, {sizes[1]}", f"{sizes[1]}, {sizes[0]}"),
                )
        for frame in functions(analysis.project, _EXCHANGES, _ATTENDS):
            exchanged: dict[str, tuple[ast.Call, tuple[str, str]]] = {}
            outputs: dict[str, tuple[ast.Call, tuple[str, str]]] = {}
            for target, value in _assigned(frame):
                call = _behind_methods(value)
                if isinstance(call, ast.Call):
                    name = as_code(target)
                    dims = _dimensions(call, frame)
                    exchanged.pop(name, None)
                    outputs.pop(name, None)
                    if dims is not None:
                        exchanged[name] = call, dims
                    elif _ATTENDS.search(as_code(call.func)):
                        given = [exchanged.get(as_code(_behind_methods(arg))) for arg in call.args[:3]]
                        same = {found[1] for found in given if found is not None}
                        undone = _turns(value) == _turns(call.args[0]) if given else False
                        if undone and len(given) == 3 and len(same) == 1 and None not in given and given[0]:
                            outputs[name] = given[0]
            for call in frame.scope.calls:
                dims = _dimensions(call, frame)
                before = outputs.get(as_code(call.args[0])) if dims is not None else None
                if before is None and dims is not None:
                    before = _attended(call.args[0], exchanged)
                if before is not None and dims == before[1] and dims is not None:
                    typed = as_code(call).replace(f"{dims[0]}, {dims[1]}", f"{dims[1]}, {dims[0]}")
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        evidence=(
                            Evidence(
                                frame.module.display,
                                before[0].lineno,
                                tr("`%(call)s`", call=as_code(before[0])),
                            ),
                        ),
                        fix=unsafe(*_typed(frame, call, dims)),
                        text=as_code(call),
                        line=before[0].lineno,
                        typed=typed,
                    )


def _assigned(frame: Frame) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Single targets and what they are given; `q, k, v = (f(t) for t in (q, k, v))` gives each `f(t)`."""
    for node in frame.scope.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.GeneratorExp | ast.ListComp):
            for part in target.elts:
                yield part, value.elt
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        else:
            yield target, value


_MOVES = frozenset("transpose contiguous to".split())


def _turns(node: ast.expr) -> list[str]:
    """The axes that an expression exchanges on its way out: what is done to the inputs is to be undone by them."""
    found: list[str] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        if node.func.attr == "transpose":
            found.append(" ".join(map(as_code, node.args)))
        node = node.func.value
    return found


def _behind_methods(node: ast.expr) -> ast.expr:
    """`x` of `x.transpose(1, 2).contiguous()`"""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    return node


def _attended(
    node: ast.expr, exchanged: dict[str, tuple[ast.Call, tuple[str, str]]]
) -> tuple[ast.Call, tuple[str, str]] | None:
    """How the inputs of an attention were exchanged that is written where its result is exchanged back."""
    call = _behind_methods(node)
    if not isinstance(call, ast.Call) or not _ATTENDS.search(as_code(call.func)) or len(call.args) < 3:
        return None
    given = [exchanged.get(as_code(_behind_methods(arg))) for arg in call.args[:3]]
    same = {found[1] for found in given if found is not None}
    undone = _turns(node) == _turns(call.args[0])
    return given[0] if undone and len(same) == 1 and None not in given else None


def _sent_alike(frame: Frame) -> Iterator[tuple[ast.Call, ast.Call, tuple[str, str]]]:
    """What came by one exchange, sent back with the same sizes to send and to receive."""
    sources: dict[str, set[str]] = {}
    calls: dict[str, tuple[ast.Call, tuple[str, str]]] = {}
    for node in frame.scope.nodes:
        if (
            not isinstance(node, ast.Assign)
            or len(node.targets) != 1
            or not isinstance(node.targets[0], ast.Name)
        ):
            continue
        name = node.targets[0].id
        read = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        sources[name] = read.union(*(sources.get(part, set()) for part in read))
        sizes = _sizes(node.value) if isinstance(node.value, ast.Call) else None
        if sizes is None or not isinstance(node.value, ast.Call):
            continue
        own = {part.id for part in ast.walk(node.value.args[0]) if isinstance(part, ast.Name)}
        came = own.union(*(sources.get(part, set()) for part in own))
        for earlier, (call, same) in calls.items():
            if earlier in came and same == sizes and as_code(call.func) == as_code(node.value.func):
                yield call, node.value, sizes
                break
        calls[name] = node.value, sizes


def _sizes(call: ast.Call) -> tuple[str, str] | None:
    """The two names that stand behind the tensor of an exchange with sizes."""
    if not _SWAPS.search(as_code(call.func)) or len(call.args) < 3:
        return None
    first, second = call.args[1:3]
    if not all(isinstance(part, ast.Name | ast.Attribute) for part in (first, second)):
        return None
    texts = as_code(first), as_code(second)
    return texts if all(_COUNTS.search(text) for text in texts) and texts[0] != texts[1] else None


def _typed(frame: Frame, call: ast.Call, dims: tuple[str, str]) -> Iterator[Edit]:
    """The two dimensions the other way round."""
    for number, text in zip(_numbers(call), reversed(dims), strict=True):
        yield replace(frame.module, number, text)


def _dimensions(call: ast.Call, frame: Frame) -> tuple[str, str] | None:
    """The two constant dimensions of an exchange, given one behind the other."""
    if (
        not _EXCHANGES.search(last_name(call.func))
        or not call.args
        or frame.external(call.func).startswith("torch")
    ):
        return None
    numbers = _numbers(call)
    if len(numbers) != 2:
        return None
    if numbers[0] in call.args and call.args.index(numbers[1]) != call.args.index(numbers[0]) + 1:
        return None
    return as_code(numbers[0]), as_code(numbers[1])


def _numbers(call: ast.Call) -> list[ast.Constant]:
    """The whole numbers written behind the first argument; by keyword the dimension cut, then the one joined."""
    found = [arg for arg in call.args[1:] if isinstance(arg, ast.Constant) and type(arg.value) is int]
    named = {keyword.arg or "": keyword.value for keyword in call.keywords}
    cut = next((value for name, value in named.items() if re.match(r"scatter|split", name)), None)
    joined = next((value for name, value in named.items() if re.match(r"gather|concat", name)), None)
    both = [value for value in (cut, joined) if isinstance(value, ast.Constant) and type(value.value) is int]
    return found or both

"""E7627"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Edit, Finding
from ..language import tr
from ..project.project import dotted_name
from ..project.scopes import lines_with, nodes_near
from ..rule import Rule, Symptom
from ..tpstate.fixes import add_keyword, replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_KERNEL = "scaled_dot_product_attention"
_GIVEN = {
    "attn_mask": re.compile(r"(attn_|attention_)?(mask|bias)|(position|relative|rel_pos)_bias"),
    "dropout_p": re.compile(r"(attn_)?dropout(_p|_rate|_prob)?|dropout_p"),
}
"""Keywords of the kernel, and the parameters that are meant for them."""
_SCORES = re.compile(r"(^|_)(attn|attention|scores?|logits?|bias|sim)(_|$)")
_INFINITE = re.compile(r"float\(['\"]\+?inf(inity)?['\"]\)|(torch|math|np|numpy)\.inf")

Problem = tuple[ast.expr, str, str, Edit | None]
"""The place, what is wrong, what to type, and its edit."""


class AttentionKernelMisused(Rule):
    """torch's attention lacks what the function has for it, or its result is read with heads and tokens mixed."""

    code, symbol = "E7627", "attention-kernel-misused"
    message = "%(problem)s"
    advice = "Write `%(typed)s`."
    why = (
        "`scaled_dot_product_attention` takes a mask or bias of (..., queries, keys), adds it to the scores, and "
        "returns (batch, heads, queries, channels). What is left out of the call does nothing, and no error says so."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: blocked pairs are seen, nothing is dropped; or softmax gives NaN"
    limits = (
        "Inside one function. A mask, bias or dropout that is left out: of a function outside a class that must be "
        "given it and takes no more than its shape. Infinity by the name of what it is filled into."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The layout that the mask has is not known."

    bad = """
    # one rank of tensor_parallel layers
    from torch.nn import functional as F


    def attend(q, k, v, bias, dropout):
        q, k, v = (x.unflatten(-1, (bias.shape[1], -1)).transpose(1, 2) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)  # [attention-kernel-misused]
        return out.transpose(1, 2).flatten(2)


    def blocks(q, k, v, bias):
        return attend(q, k, v, bias, 0.0)
    """
    good = bad.replace("k, v, dropout_p", "k, v, attn_mask=bias, dropout_p").replace(
        "  # [attention-kernel-misused]", ""
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            lines = lines_with(module.text, _KERNEL) | lines_with(module.text, "masked_fill")
            if not lines:
                continue
            functions: list[ast.FunctionDef] = []
            for node in nodes_near(module.tree, lines):
                if isinstance(node, ast.FunctionDef):
                    functions.append(node)
                elif isinstance(node, ast.Call):
                    around = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
                    if around:
                        yield from self._of(module, around[-1], node)

    def _of(self, module: ModuleFacts, function: ast.FunctionDef, node: ast.Call) -> Iterator[Finding]:
        name = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
        found: Iterator[Problem] = iter(())
        if name == _KERNEL:
            found = _of_kernel(module, function, node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("masked_fill", "masked_fill_"):
            found = _infinite(module, function, node, node.func.value)
        for place, problem, typed, edit in found:
            yield self.finding(
                place_of(module, place),
                object=function.name,
                fix=unsafe(edit),
                problem=problem,
                typed=typed,
            )


def _of_kernel(module: ModuleFacts, function: ast.FunctionDef, node: ast.Call) -> Iterator[Problem]:
    given = {keyword.arg for keyword in node.keywords}
    if None not in given and not any(isinstance(arg, ast.Starred) for arg in node.args):
        is_causal = "is_causal" in given
        for at, (keyword, name) in enumerate(_GIVEN.items(), start=3):
            if keyword in given or len(node.args) > at or (is_causal and keyword == "attn_mask"):
                continue
            for parameter in _left_out(module, function, name):
                problem = tr("`%(name)s` never reaches the attention", name=parameter)
                typed = f"{keyword}={parameter}"
                yield node, problem, typed, add_keyword(module, node, typed)
        if "attn_mask" not in given and len(node.args) < 4 and not is_causal:
            for parameter in _prepared(function, node):
                typed = f"attn_mask={parameter}"
                problem = tr("`%(name)s` never reaches the attention", name=parameter)
                yield node, problem, typed, add_keyword(module, node, typed)
    masks = [keyword.value for keyword in node.keywords if keyword.arg == "attn_mask"] or node.args[3:4]
    for view in (_only_value(function, mask) for mask in masks):
        if view is not None and _has_one_key(view):
            problem = tr("`%(view)s` has no axis of keys: it says the same of all keys", view=as_code(view))
            yield view, problem, "mask.view(..., 1, keys)", None
    yield from _flattened(module, function, node)


def _left_out(module: ModuleFacts, function: ast.FunctionDef, name: re.Pattern[str]) -> Iterator[str]:
    """Parameters that must be given, and of which nothing but a shape is read, in a function that is called by name."""
    args = function.args
    if function not in module.tree.body or function.decorator_list or args.kwarg or args.vararg:
        return
    required = [*args.posonlyargs, *args.args][: len(args.posonlyargs) + len(args.args) - len(args.defaults)]
    required += [
        arg for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None
    ]
    shapes = {
        id(part.value)
        for part in walk(function)
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "ndim", "dtype", "device")
    }
    read = {
        part.id
        for part in walk(function)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in shapes
    }
    calls = [
        part
        for part in walk(module.tree)
        if isinstance(part, ast.Name) and part.id == function.name and isinstance(part.ctx, ast.Load)
    ]
    called = {id(part.func) for part in walk(module.tree) if isinstance(part, ast.Call)}
    if calls and all(id(part) in called for part in calls):
        yield from (arg.arg for arg in required if name.fullmatch(arg.arg) and arg.arg not in read)


def _prepared(function: ast.FunctionDef, node: ast.Call) -> Iterator[str]:
    """Parameters that are brought into the shape of a mask, `seen = seen.view(1, 1, 1, -1)`, and never read again."""
    parameters = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
    names = [part for part in walk(function) if isinstance(part, ast.Name)]
    for part in walk(function):
        target = part.targets[0] if isinstance(part, ast.Assign) and len(part.targets) == 1 else None
        if not isinstance(target, ast.Name) or target.id not in parameters or target.lineno > node.lineno:
            continue
        made = part.value if isinstance(part, ast.Assign) else None
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            continue
        is_shaped = (
            made.func.attr in ("view", "reshape", "unsqueeze") and as_code(made.func.value) == target.id
        )
        later = [
            name for name in names if name.id == target.id and name.lineno > (made.end_lineno or made.lineno)
        ]
        if is_shaped and not later and len(made.args) > 2:
            yield target.id


def _only_value(function: ast.FunctionDef, mask: ast.expr) -> ast.Call | None:
    """The call that made a mask, written in place or as the last thing its name was given."""
    if isinstance(mask, ast.Name):
        values = [
            part.value
            for part in walk(function)
            if isinstance(part, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == mask.id for target in part.targets)
        ]
        return _only_value(function, values[0]) if len(values) == 1 and values[0] is not mask else None
    return mask if isinstance(mask, ast.Call) else None


def _has_one_key(view: ast.Call) -> bool:
    """`mask.view(1, 1, -1, 1)`: one key, and more than one query."""
    if not isinstance(view.func, ast.Attribute) or view.func.attr not in ("view", "reshape"):
        return False
    if len(view.args) < 3 or view.keywords:
        return False
    query, key = view.args[-2:]
    sizes = [part.value if isinstance(part, ast.Constant) else as_code(part) for part in (query, key)]
    return sizes[1] == 1 and sizes[0] != 1


def _flattened(module: ModuleFacts, function: ast.FunctionDef, node: ast.Call) -> Iterator[Problem]:
    """`out.flatten(2)`: tokens are joined with channels, and heads stay in front of them."""
    names = [
        part.targets[0].id
        for part in walk(function)
        if isinstance(part, ast.Assign) and part.value is node and isinstance(part.targets[0], ast.Name)
    ]
    stored = [
        part.id for part in walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    ]
    for call in walk(function):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if (
            call.func.attr != "flatten"
            or call.keywords
            or [as_code(arg) for arg in call.args] not in (["2"], ["-2"])
        ):
            continue
        inner = call.func.value
        is_result = inner is node or (
            isinstance(inner, ast.Name) and inner.id in names and stored.count(inner.id) == 1
        )
        if is_result and any(_brings_heads_forward(part) for part in walk(function)):
            text = as_code(inner)
            problem = tr("`%(call)s` joins tokens with channels, not the heads", call=as_code(call))
            typed = f"{text}.transpose(1, 2).flatten(2)"
            yield call, problem, typed, replace(module, call, typed)


def _brings_heads_forward(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "transpose" and [as_code(arg) for arg in node.args] in (["1", "2"], ["2", "1"])


def _infinite(
    module: ModuleFacts, function: ast.FunctionDef, node: ast.Call, scores: ast.expr
) -> Iterator[Problem]:
    """`scores.masked_fill(mask, float("inf"))`: all weight goes to what should be hidden."""
    name = (dotted_name(scores) or "").rsplit(".", 1)[-1]
    if len(node.args) != 2 or not _SCORES.search(name) or not _INFINITE.fullmatch(as_code(node.args[1])):
        return
    others = {part.attr for part in walk(function) if isinstance(part, ast.Attribute)}
    if others & {"min", "argmin", "amin", "topk", "sort", "argsort", "reciprocal", "neg"}:
        return
    typed = f"-{as_code(node.args[1])}" if "float" not in as_code(node.args[1]) else 'float("-inf")'
    problem = tr(
        "what should be hidden is filled with plus infinity: softmax gives NaN, or looks nowhere else"
    )
    yield node.args[1], problem, typed, replace(module, node.args[1], typed)

"""Which tokens one rank holds under sequence parallelism: its own stretch of the sequence, or all of them.

Known from Megatron's sequence-region functions on. It is what holds while the flag is on: `key` names the open
condition that says so, and where that is known to be off nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..language import tr
from . import flags
from .choices import alternatives
from .interpreter import Interpreter
from .states import Tokens
from .token_events import TokensInLoss, TokensJoined, TokensMixed
from .values import NONE, TP, Const, Kwargs, Seq, Slice, Sym, Tensor, Value

OWN, ALL = "own", "all"

LENGTH = "own tokens"
"""The tag of a number of tokens that is one rank's."""


_FLAG = re.compile(r"sequence_parallel|seq_parallel|\bsp\b|use_sp\b")


def is_flag(key: str) -> bool:
    """Whether an open condition asks for sequence parallelism."""
    return _FLAG.search(key) is not None


def flag_in_force(interp: Interpreter) -> str | None:
    """The condition in force that says that sequence parallelism is on."""
    found = [
        flags.bare(key)[0]
        for key, side in (*interp.choice.items(), *interp.branch.items())
        if side is not flags.bare(key)[1] and is_flag(key) and " or " not in key
    ]
    return max(found, key=len, default=None)


def holds(interp: Interpreter, tokens: Tokens | None) -> Tokens | None:
    """What is known of the tokens here: nothing where sequence parallelism is off."""
    if tokens is None or (tokens.key and interp.known_side(tokens.key) is False):
        return None
    return tokens


def same_flag(one: Tokens, other: Tokens) -> bool:
    """Whether two facts hold under one flag."""
    if not one.key or not other.key:
        return True
    return one.key in flags.implied(other.key, True) or other.key in flags.implied(one.key, True)


_INTO = {
    "scatter_to_sequence_parallel_region": OWN,
    "reduce_scatter_to_sequence_parallel_region": OWN,
    "gather_from_sequence_parallel_region": ALL,
}

REGIONS = frozenset(_INTO)


def of_region(
    interp: Interpreter, name: str, tensor: Tensor, kwargs: Kwargs, node: ast.expr
) -> Tokens | None:
    """What a sequence-region function returns; over a group of its own nothing is known."""
    if kwargs.keys() & {"group", "tp_group", "**"}:
        return None
    held = _INTO[name]
    text = tr("each rank holds its own tokens") if held == OWN else tr("each rank holds all tokens")
    before = tensor.tokens.why if tensor.tokens is not None else None
    return Tokens(
        held,
        flag_in_force(interp) or "",
        why=interp.step(node, tr("`%(name)s`: %(text)s", name=name, text=text), before),
    )


def _is_on(interp: Interpreter, value: Value | None, key: str) -> bool | None:
    """Whether the flag of a layer is on when `key` is; None where they are not seen to be one."""
    if isinstance(value, Const):
        return bool(value.value)
    if not isinstance(value, Sym):
        return None
    bare, turned = flags.bare(value.text)
    if turned:
        return None
    return True if not key or bare == key or key in flags.implied(bare, True) else None


def of_column(
    interp: Interpreter, given: Tensor, flag: Value | None, name: str, node: ast.expr
) -> Tokens | None:
    """The output of a column-parallel layer: it gathers the tokens while sequence parallelism is on."""
    tokens = holds(interp, given.tokens)
    if tokens is None:
        return None
    on = _is_on(interp, flag, tokens.key)
    if on is None:
        return None
    text = tr("the column-parallel `%(name)s` gathers the sequence: all tokens", name=name)
    return replace(tokens, held=ALL, why=interp.step(node, text, tokens.why)) if on else tokens


def gathers_twice(interp: Interpreter, given: Value, flag: Value | None) -> Tokens | None:
    """All tokens that enter a column-parallel layer which gathers them."""
    tokens = holds(interp, given.tokens) if isinstance(given, Tensor) else None
    if tokens is None or tokens.held != ALL or _is_on(interp, flag, tokens.key) is not True:
        return None
    is_off = isinstance(flag, Sym) and interp.known_side(flags.bare(flag.text)[0]) is False
    return None if is_off else tokens


def of_row(
    interp: Interpreter, given: Tensor, flag: Value | None, name: str, node: ast.expr
) -> Tokens | None:
    """The output of a row-parallel layer: it scatters the tokens while sequence parallelism is on."""
    tokens = holds(interp, given.tokens)
    if tokens is None or tokens.held != ALL:
        return None
    on = _is_on(interp, flag, tokens.key)
    if on is None:
        return None
    text = tr(
        "the row-parallel `%(name)s` reduce-scatters along the sequence: each rank holds its own tokens",
        name=name,
    )
    return replace(tokens, held=OWN, why=interp.step(node, text, tokens.why)) if on else tokens


def joined(interp: Interpreter, left: Value, right: Value, node: ast.expr, how: str) -> Tokens | None:
    """The tokens of an elementwise operation; own ones do not meet all."""
    known = [
        tokens
        for value in (left, right)
        if isinstance(value, Tensor) and (tokens := holds(interp, value.tokens)) is not None
    ]
    if len(known) < 2:
        return known[0] if known else None
    first, second = known
    if first.held == second.held:
        return first
    if same_flag(first, second) and not _narrow(left) and not _narrow(right):
        interp.emit(TokensMixed, node, tokens=(first, second), how=how)
    return None


def _narrow(value: Value) -> bool:
    return isinstance(value, Tensor) and value.role == "parameter"


def of_joined(interp: Interpreter, parts: list[Value], dim: Value, node: ast.expr) -> Tokens | None:
    """`torch.cat`: stretches of two sequences in a row are no stretch of what the sequences make in a row."""
    known = [holds(interp, part.tokens) if isinstance(part, Tensor) else None for part in parts]
    first = known[0]
    if first is None or any(other is None or other.held != first.held for other in known):
        found = [tokens for tokens in known if tokens is not None]
        if len(found) == 2 == len(parts) and same_flag(found[0], found[1]):
            interp.emit(TokensMixed, node, tokens=(found[0], found[1]), how=tr("a concatenation"))
        return None
    if first.held == OWN and dim == Const(0) and first.first and len(parts) > 1 and not _alike(parts):
        interp.emit(TokensJoined, node, tokens=first)
        return None
    return first


def _alike(parts: list[Value]) -> bool:
    return all(part == parts[0] for part in parts)


def of_product(interp: Interpreter, left: Value, right: Value) -> Tokens | None:
    """`left @ right`: known where only one of them holds tokens, or both the same."""
    known = [
        tokens
        for value in (left, right)
        if isinstance(value, Tensor) and (tokens := holds(interp, value.tokens)) is not None
    ]
    return known[0] if known and all(other.held == known[0].held for other in known) else None


_KEEPS = frozenset(
    """linear softmax log_softmax layer_norm rms_norm normalize contiguous squeeze index_add scatter_ scatter_add
    masked_fill masked_fill_ outer repeat_interleave sin cos""".split()
)

_TURNS = frozenset("permute transpose swapaxes movedim unsqueeze view reshape flatten expand".split())

_OF_LAST = frozenset("sum mean norm max min amax amin logsumexp topk split chunk".split())


def carried(
    interp: Interpreter, name: str, tensor: Tensor, rest: tuple[Value, ...], kwargs: Kwargs, result: Value
) -> Value:
    """`result` of an operation on one tensor, with the tokens it holds."""
    tokens = tensor.tokens
    if (
        name in ("chunk", "tensor_split", "split")
        and rest
        and isinstance(rest[0], Sym)
        and TP in rest[0].tags
    ):
        key = flag_in_force(interp)
        tokens = Tokens(OWN, key, first=False) if key is not None else None
    elif tokens is None or (result is tensor and name not in _TURNS):
        return result
    elif name in _TURNS:
        tokens = replace(tokens, first=False)
    elif name in _OF_LAST:
        at = kwargs.get("dim", rest[-1] if rest else None)
        tokens = tokens if at == Const(-1) else None
    elif name not in _KEEPS and not (isinstance(result, Tensor) and result.tokens == tokens):
        tokens = None
    return with_tokens(result, tokens)


def with_tokens(result: Value, tokens: Tokens | None) -> Value:
    """A tensor, or each of a sequence, that holds these tokens."""
    if isinstance(result, Tensor):
        return result if result.tokens == tokens else result.but(tokens=tokens)
    if isinstance(result, Seq):
        items = tuple(with_tokens(item, tokens) for item in result.items)
        return Seq(items, None if result.rest is None else with_tokens(result.rest, tokens), result.kind)
    return result


def of_index(tensor: Tensor, index: Value) -> Tokens | None:
    """Full slices and new axes leave the tokens as they are."""
    parts = index.items if isinstance(index, Seq) and index.rest is None else (index,)
    whole = all(part in (NONE, Const(...)) or part == Slice(NONE, NONE, NONE) for part in parts)
    return tensor.tokens if whole else None


def length(interp: Interpreter, tensor: Tensor, at: int) -> tuple[str, ...]:
    """The tags of a size: whether it counts the tokens of one rank."""
    tokens = holds(interp, tensor.tokens)
    return (LENGTH,) if at == 0 and tokens is not None and tokens.first and tokens.held == OWN else ()


def of_factory(interp: Interpreter, sizes: Iterable[Value], node: ast.expr) -> Tokens | None:
    """A tensor made for a number of tokens that is one rank's."""
    for conditions, leaf in (found for size in sizes for found in alternatives(interp.settle(size))):
        if isinstance(leaf, Sym) and LENGTH in leaf.tags:
            key = flag_in_force(interp) or next(
                (key for key, on in conditions.items() if on and is_flag(key)), ""
            )
            why = interp.step(node, tr("it is made for as many tokens as one rank holds"))
            return Tokens(OWN, key, first=False, why=why)
    return None


def held_of(interp: Interpreter, value: Value) -> Iterator[Tokens]:
    """The tokens of each alternative of a value, where its conditions leave sequence parallelism on."""
    for conditions, leaf in alternatives(interp.settle(value)):
        tokens = holds(interp, leaf.tokens) if isinstance(leaf, Tensor) else None
        if tokens is not None:
            needed = flags.implied(tokens.key, True)
            if all(conditions.get(key, side) == side for key, side in needed.items()):
                yield tokens


_LOSS = re.compile(r"(\w*_)?(balanc\w*|aux|switch\w*)(_\w+)?_loss|(\w*_)?loss_(balanc\w*|aux)")


def note_loss(interp: Interpreter, name: str, args: tuple[Value, ...], node: ast.expr) -> None:
    """A balancing loss is a product of means over all tokens: that of each stretch is another number."""
    for value in args if _LOSS.fullmatch(name) else ():
        tokens = next((tokens for tokens in held_of(interp, value) if tokens.held == OWN), None)
        if tokens is not None:
            interp.emit(TokensInLoss, node, tokens=tokens, loss=name)
            return

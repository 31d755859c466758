"""Values that hang on an open condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .states import State
from .values import MAX_NESTED, UNKNOWN, Tensor, Value


@dataclass(unsafe_hash=True, slots=True)
class Choice(Value):
    """One of two values, by a condition that could not be decided: `key` is its canonical text."""

    key: str
    then: Value
    other: Value

    @property
    def nested(self) -> int:  # type: ignore[override]
        return self.then.nested + self.other.nested


def choose(key: str, then: Value, other: Value) -> Value:
    """A Choice, or the value itself where both sides are the same; of deep ones what all tensors share is kept."""
    if then is other or then == other:
        return then
    if isinstance(then, Tensor) and isinstance(other, Tensor) and _differ_in_tokens(key, then, other):
        return then
    if then.nested + other.nested > MAX_NESTED or leaves(then) + leaves(other) > 8:
        then, other = _shared(then), _shared(other)
        whole = _shared(Choice(key, then, other))
        return Choice(key, then, other) if whole is UNKNOWN and then != other else whole
    return Choice(key, then, other)


def _differ_in_tokens(key: str, then: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ only in tokens that hold under the very condition that tells them apart."""
    tokens = then.tokens
    return tokens is not None and tokens.key == key and then.but(tokens=None) == other.but(tokens=None)


def _shared(value: Value) -> Value:
    """What a split or whole tensor is whichever way the conditions go; UNKNOWN where the sides disagree."""
    if not isinstance(value, Choice):
        return value if value.nested <= MAX_NESTED // 2 else UNKNOWN
    tensors = [leaf for _, leaf in alternatives(value)]
    first = tensors[0]
    if not isinstance(first, Tensor) or first.state is State.PARTIAL:
        return UNKNOWN
    last, width = True, first.width
    tokens = next((tensor.tokens for tensor in tensors if isinstance(tensor, Tensor) and tensor.tokens), None)
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or (tensor.state, tensor.group) != (first.state, first.group):
            return UNKNOWN
        last = last and tensor.last
        width = width if tensor.width == width else None
        tokens = tokens if tensor.tokens in (None, tokens) else None
    return Tensor(first.state, last, width, first.why, group=first.group, tokens=tokens)


def leaves(value: Value) -> int:
    return leaves(value.then) + leaves(value.other) if type(value) is Choice else 1


def alternatives(value: Value) -> Iterator[tuple[dict[str, bool], Value]]:
    """Every leaf of a Choice with the conditions under which it stands."""
    if not isinstance(value, Choice):
        yield {}, value
        return
    for branch, side in ((value.then, True), (value.other, False)):
        for conditions, leaf in alternatives(branch):
            if conditions.get(value.key, side) == side:
                yield {**conditions, value.key: side}, leaf

"""What is seen of sizes per rank, and of parameters that have them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Event
from .values import Obj, Tensor, Value


@dataclass
class Divided(Event):
    """A head count or width was divided by the TP size."""

    top: Value = field(kw_only=True)
    name: str = field(kw_only=True)


@dataclass
class ParameterMade(Event):
    """`nn.Parameter(data)` of a size that is a part of the whole: one rank's share."""

    sizes: tuple[Value, ...] = field(kw_only=True)


@dataclass
class RawColumn(Event):
    """A value was multiplied with a parameter of which each rank has some of the outputs."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class PartReduced(Event):
    """A maximum or sum over one rank's part met the part itself before the ranks' were put together."""

    tensor: Tensor = field(kw_only=True)
    part: Tensor = field(kw_only=True)


@dataclass
class FirstPartTaken(Event):
    """Every rank takes the first `length` of a whole dimension, as many as one rank's part has."""

    length: Value = field(kw_only=True)
    whole: Value = field(kw_only=True)


@dataclass
class ParameterMarked(Event):
    """A parameter of these sizes was marked as cut along dimension `dim`, or as whole (`is_cut`)."""

    sizes: tuple[Value, ...] = field(kw_only=True)
    dim: int = field(kw_only=True)
    is_cut: bool = field(kw_only=True, default=True)


@dataclass
class WronglyReduced(Event):
    """What one rank holds was put together in the wrong way, or not before it met a sum of all ranks: `how` says it."""

    tensor: Tensor = field(kw_only=True)
    how: str = field(kw_only=True)


@dataclass
class LookedUp(Event):
    """One rank's part was indexed by numbers of the whole dimension."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class FusedLoad(Event):
    """The weight of a column layer was loaded from one slice of a whole tensor; `joined`: of a concatenation."""

    layer: Obj = field(kw_only=True)
    joined: bool = field(kw_only=True)


@dataclass
class WholeCollected(Event):
    """What every rank holds whole was summed or gathered over the ranks: `call` names the function."""

    tensor: Tensor = field(kw_only=True)
    call: str = field(kw_only=True)
    gathers: bool = field(kw_only=True)


@dataclass
class ShardWeighted(Event):
    """A parameter that every rank holds alike was applied to one rank's part of a value: `name` says which."""

    tensor: Tensor = field(kw_only=True)
    name: str = field(kw_only=True)


@dataclass
class WeightTaken(Event):
    """The weight of a parallel layer was multiplied without calling the layer; `mark` names the result, `has_bias` says
    whether the layer's bias was added to it."""

    layer: Obj = field(kw_only=True)
    mark: str = field(kw_only=True)
    has_bias: bool = field(default=False, kw_only=True)

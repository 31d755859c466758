"""The abstract values the interpreter computes with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..facts.module import ClassFacts, ModuleFacts
from .provider_table import Provider
from .states import State, Step, Tokens
from .symbols import Poly

TP = "tp"
PER_RANK = "per_rank"
HEADS = "heads"

OPEN = "**"
"""Key under which the unknown rest of `**kwargs` travels."""

MAX_ITEMS = 4096
"""Sequences longer than this are not kept item by item."""

MAX_NESTED = 1024
"""Nor are those with more sequences inside, each counted as often as it is met: `a = (a, a)` forty times has 2**40."""


class Value:
    """Anything the interpreter can hold. Nothing changes a value but `Obj` and `Heap`: freezing them costs too much."""

    __slots__ = ()

    nested: int = 0
    """How many sequences are met in walking it."""


@dataclass(unsafe_hash=True, slots=True)
class Unknown(Value):
    """Nothing is known."""


UNKNOWN = Unknown()


@dataclass(unsafe_hash=True, slots=True)
class Const(Value):
    """A Python constant: None, bool, int, float, str, bytes or Ellipsis."""

    value: Any


NONE = Const(None)


@dataclass(unsafe_hash=True, slots=True)
class NothingReturned(Const):
    """The None of a forward that falls off its end, or returns nothing; `forward` names it."""

    forward: str = ""


@dataclass(unsafe_hash=True, slots=True)
class NoEntry(Const):
    """The None that `registry.get(key)` gives for a key the registry does not have."""

    key: str = ""
    table: Any = None


@dataclass(unsafe_hash=True, slots=True)
class Sym(Value):
    """An unknown number or object with an identity, so that equal names are seen to be equal."""

    poly: Poly
    tags: frozenset[str] = frozenset()

    @staticmethod
    def named(name: str, *tags: str) -> Sym:
        return Sym(Poly.atom(name), frozenset(tags))

    @property
    def text(self) -> str:
        return str(self.poly)


@dataclass(unsafe_hash=True, slots=True)
class Seq(Value):
    """A tuple or an immutable view of a list; `rest` stands for any number of further items."""

    items: tuple[Value, ...]
    rest: Value | None = None
    kind: str = "tuple"
    nested: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        inside = 1 if self.rest is None else 1 + self.rest.nested
        for item in self.items:
            inside += item.nested
        if inside > MAX_NESTED:
            self.items, self.rest = (), UNKNOWN
        elif inside > 1:
            self.nested = inside

    def sample(self, limit: int = 64) -> list[Value]:
        """The items to run a loop over: the known ones, then two of the unknown number."""
        return [*self.items[:limit], *([self.rest] * 2 if self.rest is not None else [])]


@dataclass(unsafe_hash=True, slots=True)
class Slice(Value):
    lower: Value
    upper: Value
    step: Value


@dataclass(eq=False, slots=True)
class Cls(Value):
    """A class: of the tree (`facts`), or external by its dotted name."""

    dotted: str
    facts: ClassFacts | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cls) and other.dotted == self.dotted and other.facts is self.facts

    def __hash__(self) -> int:
        return hash(self.dotted)


@dataclass(unsafe_hash=True, slots=True)
class Known(Value):
    """A function of a library or a builtin, by its dotted name."""

    dotted: str


@dataclass(unsafe_hash=True, slots=True)
class Mod(Value):
    """A Python module or namespace of the tree."""

    facts: ModuleFacts | None
    dotted: str


_serial = itertools.count()


@dataclass(eq=False)
class Delayed:
    """A constructor that has not run yet; `owner` is the instance it fills, for all that hold the same attributes."""

    owner: Obj
    run: Callable[[], None] | None

    def finish(self, asked: Obj) -> None:
        """Run it, once."""
        run, self.run, self.owner.delayed = self.run, None, None
        if run is not None:
            run()
        asked.known, asked.opaque = self.owner.known, self.owner.opaque
        asked.unfinished = self.owner.unfinished


@dataclass(eq=False)
class Obj(Value):
    """An instance. `attrs` changes while code runs; `cls` tells its class; `made_at` the call that built it.

    `provider` is the contract of a parallel layer. `known` holds the conditions that its constructor insists on
    (`assert mode == "a"`). The constructor of what holds no parallel layer is `delayed` until something asks for
    an attribute.
    """

    cls: Cls
    args: dict[str, Value] = field(default_factory=dict)
    made_at: Any = None
    provider: Provider | None = None
    serial: int = field(default_factory=lambda: next(_serial))
    name: str = ""
    opaque: bool = False
    unfinished: bool = False
    known: dict[str, bool] = field(default_factory=dict)
    delayed: Delayed | None = None
    _attrs: dict[str, Value] = field(default_factory=dict)

    @property
    def attrs(self) -> dict[str, Value]:
        if self.delayed is not None:
            delayed, self.delayed = self.delayed, None
            delayed.finish(self)
        return self._attrs

    def become(self, twin: Obj) -> None:
        """Hold what an instance of the same class holds that was built from the same arguments elsewhere."""
        self._attrs, self.known, self.delayed = twin._attrs, twin.known, twin.delayed
        self.serial, self.opaque, self.provider = twin.serial, twin.opaque, twin.provider
        self.unfinished = twin.unfinished

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Obj) and other.serial == self.serial

    def __hash__(self) -> int:
        return self.serial

    def __repr__(self) -> str:
        return f"<{self.cls.dotted} #{self.serial}>"


@dataclass(eq=False)
class Heap(Value):
    """A list, dict or module container: `content` is replaced as a whole so that branches can be undone."""

    kind: str
    attrs: dict[str, Value] = field(default_factory=dict)
    serial: int = field(default_factory=lambda: next(_serial))

    @property
    def content(self) -> Value:
        return self.attrs["content"]


@dataclass(eq=False, slots=True)
class Table(Value):
    """The content of a dict: known entries and, where keys are computed, `rest`."""

    entries: dict[Any, Value]
    rest: Value | None = None
    name: str = ""


@dataclass(unsafe_hash=True)
class Tensor(Value):
    """A tensor.

    `state` is what one rank holds; for SHARDED, `last` tells whether the split dimension is known to be the last
    one. `width` is the full (all ranks together) size of the last dimension. `dims` are the sizes of a tensor made
    by a factory (`torch.empty(a, b)`), which is how parameters are read. `group` names the group it is split over,
    where that is not the TP group. `sizes` are those of every dimension on one rank where a view gave them, `axis`
    the index of the split one. `tokens` says which tokens it holds under sequence parallelism.
    """

    state: State
    last: bool = True
    width: Poly | None = None
    why: Step | None = field(default=None, compare=False)
    dims: tuple[Value, ...] | None = None
    role: str = ""
    tag: str = ""
    group: str = ""
    sizes: tuple[Value, ...] | None = None
    axis: int | None = None
    tokens: Tokens | None = None

    def but(self, **changes: Any) -> Tensor:
        changed = Tensor.__new__(Tensor)
        changed.__dict__.update(self.__dict__, **changes)
        return changed


@dataclass(eq=False, slots=True)
class Pair(Value):
    """The `(output, bias)` a parallel linear returns."""

    output: Value
    bias: Value
    layer: Obj
    call: Any

    def __hash__(self) -> int:
        return hash((self.layer.serial, self.output))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pair):
            return False
        return other.layer == self.layer and other.output == self.output and other.bias == self.bias


def poly_of(value: Value) -> Poly | None:
    """The symbolic number a value is, if it is one."""
    if isinstance(value, Sym):
        return value.poly
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return Poly.number(value.value)
    return None


def number(poly: Poly, tags: frozenset[str] = frozenset()) -> Value:
    """A Const for a whole number, else a Sym."""
    constant = poly.constant
    if constant is not None and constant.denominator == 1:
        return Const(int(constant))
    return Sym(poly, tags) if poly.small() else UNKNOWN


Kwargs = dict[str, Value]
"""Arguments by name; `**` stands for an unknown rest, `*` for unknown positional ones."""

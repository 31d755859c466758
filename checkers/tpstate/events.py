"""What the interpreter saw that a rule may care about. Events are facts, not verdicts."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from ..facts.module import ClassFacts, ModuleFacts
from ..language import tr
from .provider_table import Provider
from .states import Step
from .symbols import Poly
from .values import Obj, Pair, Tensor, Value


@dataclass(unsafe_hash=True, slots=True)
class Site:
    """A node of one file, and the function that runs it (None at module level)."""

    module: ModuleFacts
    node: ast.expr | ast.stmt
    function: ast.AST | None = None

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.module.display, self.node.lineno, self.node.col_offset)


_ONE_RANK = re.compile(
    r"(?:.*\.)?(?:\w+_)?(?:tp|tp_(?:world_)?size|parallel_(?:world_)?size|world_size)(?:\(\))?(?:@\d+)? (>|!=|==|<=) 1"
)


_HAS_RANKS = re.compile(r"(?:.*\.)?(?:has|use|enable)_(?:\w+_)?tp")


def says_one_rank(key: str, side: bool) -> bool:
    """Whether a condition says that there is one TP rank only, where split and whole are the same."""
    if not side and _HAS_RANKS.fullmatch(key):
        return True
    match = _ONE_RANK.fullmatch(key)
    return match is not None and (match.group(1) in ("==", "<=")) is side


@dataclass
class Event:
    """Where it happened; under which undecided branch conditions (`branch`), and for which alternative of a value
    (`choice`); `stack` holds the call sites that lead here, outermost first."""

    site: Site
    owner: ClassFacts | None
    branch: dict[str, bool]
    choice: dict[str, bool]
    stack: tuple[Site, ...]
    root: ClassFacts | None

    @property
    def on_one_rank(self) -> bool:
        """Whether it happens without tensor parallelism only."""
        return any(says_one_rank(key, side) for key, side in (*self.branch.items(), *self.choice.items()))

    @property
    def certain(self) -> bool:
        """Whether it happens for sure when this code runs (for one setting of one flag at most)."""
        if self.on_one_rank:
            return False
        open_choices = {key for key, side in self.choice.items() if self.branch.get(key) != side}
        return not open_choices or (len(open_choices) == 1 and not self.branch)

    @property
    def settled(self) -> bool:
        """Whether it happens for one setting of one option, that of sequence parallelism and what has to do with none
        of the conditions around it left out."""
        if self.certain or self.on_one_rank:
            return self.certain
        keys = [
            key
            for key, side in self.choice.items()
            if self.branch.get(key) != side and "sequence_parallel" not in key
        ]
        whole = [key for key in keys if not any(key in other and key != other for other in keys)]
        around = set(re.findall(r"[A-Za-z_]\w*", " ".join(self.branch)))
        asked = set(re.findall(r"[A-Za-z_]\w*", " ".join(whole)))
        return len(whole) <= 1 and not (around & asked) - _HOLDERS


_HOLDERS = frozenset("config self run args text model".split())


@dataclass
class ParallelCall(Event):
    """A parallel layer was called with `given`."""

    layer: Obj = field(kw_only=True)
    row: Provider = field(kw_only=True)
    given: Value = field(kw_only=True)
    result: Value = field(kw_only=True)


@dataclass
class PairUsed(Event):
    """An `(output, bias)` pair was used as if it were a tensor; `how` names the use."""

    pair: Pair = field(kw_only=True)
    how: str = field(kw_only=True)


OUTPUT_LOST = tr("its second item, the bias, is taken while the output goes nowhere")


@dataclass
class BiasDropped(Event):
    """The bias of a pair went nowhere."""

    pair: Pair = field(kw_only=True)


@dataclass
class ShardedEscape(Event):
    """A sharded value met something that needs the whole dimension."""

    tensor: Tensor = field(kw_only=True)
    other: Tensor | None = field(kw_only=True, default=None)
    consumer: str = field(kw_only=True)
    proven: bool = field(kw_only=True)
    layer: Obj | None = field(kw_only=True, default=None)


@dataclass
class Reshaped(Event):
    """A tensor was viewed with these sizes."""

    tensor: Tensor = field(kw_only=True)
    sizes: tuple[Value, ...] = field(kw_only=True)
    equal: dict[str, Poly] = field(kw_only=True)
    nodes: tuple[ast.expr, ...] = field(kw_only=True)


@dataclass
class AllHeadsMet(Event):
    """A tensor split along its heads met one with all of them there: `size` says how many."""

    tensor: Tensor = field(kw_only=True)
    size: str = field(kw_only=True)


@dataclass
class WholeNeeded(Event):
    """An operation over the dimension that is split across the ranks: `operation` sees one rank's part of it."""

    tensor: Tensor = field(kw_only=True)
    operation: str = field(kw_only=True)


@dataclass
class SplitWhole(Event):
    """One rank's part was cut into sizes that add up to the whole dimension."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class PartialMet(Event):
    """A partial sum met what needs the whole one: `other` says how the second operand is known to be whole."""

    tensor: Tensor = field(kw_only=True)
    other: Step | None = field(kw_only=True)
    how: str = field(kw_only=True)


@dataclass
class ThirdsTaken(Event):
    """A fused projection was cut into `count` contiguous parts."""

    tensor: Tensor = field(kw_only=True)
    count: int = field(kw_only=True)


@dataclass
class HeadsTiled(Event):
    """The heads of one rank were repeated one block after another: `k.repeat(1, 1, groups, 1)`."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class NotAPair(Event):
    """The tensor that a layer returns was taken apart as if it were `(output, bias)`."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class BiasOnPartial(Event):
    """A bias was added to a value that is still a partial sum."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class LossOnGathered(Event):
    tensor: Tensor = field(kw_only=True)


@dataclass
class Built(Event):
    """A module was built: `obj` with `args` bound by name where the signature is known.

    `contract` is the row of the provider table where this call built the parallel layer itself; a subclass with a
    constructor of its own is followed to the call of `super().__init__` inside it.
    """

    obj: Obj = field(kw_only=True)
    positional: int = field(kw_only=True)
    keywords: dict[str, Value] = field(kw_only=True)
    open_keywords: bool = field(kw_only=True)
    contract: Any = field(kw_only=True, default=None)


@dataclass
class Rejected(Event):
    """A call whose arguments its target does not accept; `what` is constructor or forward."""

    target: str = field(kw_only=True)
    problem: str = field(kw_only=True)
    what: str = field(kw_only=True)
    holder: ClassFacts | None = field(kw_only=True, default=None)
    parameter: str = field(kw_only=True, default="")


@dataclass
class UnknownKey(Event):
    """A registry was asked for a key it does not have."""

    key_name: str = field(kw_only=True)
    registry: str = field(kw_only=True)
    choices: tuple[str, ...] = field(kw_only=True)


@dataclass
class EntryCalled(Event):
    """A `(module, class)` pair out of a registry was called."""

    entry: str = field(kw_only=True)


FLAG_LEFT_OUT = "no flag"
"""Megatron's checkpoint takes `distribute_saved_activations` before the tensors."""


@dataclass
class Checkpointed(Event):
    """A call of Megatron's activation checkpoint; `bad` names an argument that is no tensor, or what is left out."""

    bad: str = field(kw_only=True)


@dataclass
class NoneUsed(Event):
    """The None that a forward returned was used."""

    forward: str = field(kw_only=True)
    how: str = field(kw_only=True)


@dataclass
class TensorKeyed(Event):
    """A tensor was read like the dict or object that carries it: `x["mask"]`, `x.x`."""

    text: str = field(kw_only=True)


FAILURES: tuple[type[Event], ...] = (TensorKeyed, Rejected, UnknownKey, EntryCalled, Checkpointed, NoneUsed)
"""What raises when it runs: not logged inside a `try` whose handler goes on."""


@dataclass
class Dropped(Event):
    """Elements of a tensor were dropped at random."""

    tensor: Tensor = field(kw_only=True)


@dataclass
class Log:
    """Everything seen in one run, in the order in which it was seen."""

    events: list[Event] = field(default_factory=list)
    exhausted: list[ClassFacts] = field(default_factory=list)
    failed: list[tuple[ClassFacts, str]] = field(default_factory=list)

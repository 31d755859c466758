"""What a model builds with its default arguments: stacks of blocks, their depths, drop-path rates and cost.

The figures of the rules on depth, drop path and balance, and of the report's tables, come from here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..facts.module import ClassFacts
from ..language import tr
from ..project.stages import Family, Stage
from .analysis import Analysis
from .events import Built, Site
from .values import Const, Heap, Obj, Seq, Value, poly_of

KEPT_BY_ALL_RANKS, KEPT_SPLIT = 2 + 2, 3 + 1 + 4 + 4
"""Numbers per token and channel that a block keeps: of its LayerNorms, and those that tensor parallelism splits."""

BLOCK_COUNTS = ("depth", "num_layers", "n_layers", "num_blocks", "n_blocks", "depths")

_PARTS = ("num_local", "num_global")

RATES = ("drop_path", "drop_path_rate", "drop_path_rates", "dpr", "drop_paths")

_WIDTH = ("dim", "embed_dim", "hidden_size", "hidden_dim", "d_model")

HEAD_COUNTS = ("num_heads", "n_heads", "num_attention_heads", "nhead")

_GRID = ("input_resolution", "resolution", "grid", "img_size")


@dataclass(frozen=True)
class Stack:
    """Blocks that one call of a constructor makes. None where a number is not known.

    `tokens` is the number of tokens a sample has there, `window` the tokens of one attention window, `rates` the
    drop-path rates of the blocks.
    """

    attr: str
    style: str
    site: Site
    depth: int | None
    dim: int | None
    heads: int | None
    tokens: int | None
    window: tuple[int, ...] | None
    rates: tuple[float, ...] | None
    has_rates: bool

    @property
    def cost(self) -> int | None:
        """Multiplications of one sample: depth x tokens x (12 dim^2 + 2 window dim), as in a transformer block."""
        if self.depth is None or self.dim is None or self.tokens is None or self.window is None:
            return None
        return self.depth * self.tokens * (12 * self.dim**2 + 2 * math.prod(self.window) * self.dim)

    @property
    def kept_bytes(self) -> int | None:
        """What the blocks keep for backward of one sample in 16-bit numbers without tensor parallelism, as transformer
        blocks: inputs and outputs of both LayerNorms, q, k, v, the mixed values, and the MLP of 4 dim before and after
        its activation.
        """
        if self.depth is None or self.dim is None or self.tokens is None or self.window is None:
            return None
        return self.depth * self.tokens * self.dim * (KEPT_BY_ALL_RANKS + KEPT_SPLIT) * 2


@dataclass(frozen=True)
class Balance:
    """The work of the stages of a family: `costs` by stage, and whether they are multiplications or block counts."""

    costs: tuple[tuple[Stage, int], ...]
    is_estimate: bool
    sizes: str = "default arguments"

    @property
    def mean(self) -> float:
        return sum(cost for _, cost in self.costs) / len(self.costs)

    def deviation(self, stage: Stage) -> float:
        """How far a stage is from the mean: 0.25 is a quarter more."""
        return dict(self.costs)[stage] / self.mean - 1

    @property
    def method(self) -> str:
        """How it was estimated, in words."""
        if self.is_estimate:
            return tr("depth x tokens x (12 dim^2 + 2 window dim), %(sizes)s", sizes=self.sizes)
        return tr("number of blocks, %(sizes)s", sizes=self.sizes)


def stacks(
    analysis: Analysis, cls: ClassFacts, given: Mapping[str, Any] = MappingProxyType({})
) -> list[Stack]:
    """The stacks of blocks a model builds, in the order in which it builds them: with its default arguments, or with
    the values `given` in place of them (None where one is not known)."""
    found: dict[tuple[str, int, int], list[tuple[Built, Site]]] = {}
    for event in analysis.built_by_default(cls, _is_stack, given):
        method = (
            analysis.project.method(event.obj.cls.facts, "__init__")
            if event.obj.cls.facts is not None
            else None
        )
        if event.obj.cls.facts is cls or method is None or not _is_stack(event.obj, method[1]):
            continue
        site = _in_constructor(analysis, cls, event)
        if site is not None:
            found.setdefault(site.key, []).append((event, site))
    return [_stack(analysis, cls, events) for events in found.values()]


def balance(analysis: Analysis, family: Family) -> Balance | None:
    """The work of each stage with default arguments, None where it cannot be told for every one."""
    return weighed([(stage, stacks(analysis, stage.cls)) for stage in family.stages])


def weighed(
    by_stage: Sequence[tuple[Stage, list[Stack]]], sizes: str = tr("default arguments")
) -> Balance | None:
    """The work of stages by what they build; `sizes` says with which sizes."""
    if not all(found for _, found in by_stage):
        return None
    exact = [(stage, [stack.cost for stack in found]) for stage, found in by_stage]
    if all(cost is not None for _, costs in exact for cost in costs):
        return Balance(
            tuple((stage, sum(cost or 0 for cost in costs)) for stage, costs in exact), True, sizes
        )
    counted = [(stage, [stack.depth for stack in found]) for stage, found in by_stage]
    if all(depth is not None for _, depths in counted for depth in depths):
        return Balance(
            tuple((stage, sum(depth or 0 for depth in depths)) for stage, depths in counted), False, sizes
        )
    return None


def _is_stack(obj: Obj, method: ast.FunctionDef) -> bool:
    names = {arg.arg for arg in (*method.args.args, *method.args.kwonlyargs)}
    sized = bool(names & set(_WIDTH)) or bool(names & set(HEAD_COUNTS))
    return sized and bool(names & {*BLOCK_COUNTS, *_PARTS} or names & set(RATES))


def _in_constructor(analysis: Analysis, cls: ClassFacts, event: Built) -> Site | None:
    """The call in the model's own constructor that leads to an event; None for the model itself."""
    for site in (*event.stack, event.site):
        for entry in analysis.project.mro(cls):
            if (
                isinstance(entry, ClassFacts)
                and entry.module is site.module
                and isinstance(site.node, ast.Call)
            ):
                if entry.node.lineno <= site.node.lineno <= (entry.node.end_lineno or 0):
                    return site
    return None


def _stack(analysis: Analysis, cls: ClassFacts, events: list[tuple[Built, Site]]) -> Stack:
    first, site = events[0]
    args = _arguments(analysis, first)
    depth = _first_number(args, BLOCK_COUNTS)
    parts = [_integer(args[name]) for name in _PARTS if name in args]
    if parts and (depth is not None or not any(name in args for name in BLOCK_COUNTS)):
        each = 1 if depth is None else depth  # a stack in each part
        depth = None if None in parts else each * sum(part or 0 for part in parts)
    elif not any(name in args for name in BLOCK_COUNTS):
        depth = len(events)
    rates: list[float] | None = []
    has_rates = False
    for event, _ in events:
        given = next((event.obj.args[name] for name in RATES if name in event.obj.args), None)
        has_rates = has_rates or given is not None
        part = _floats(given)
        rates = None if part is None or rates is None else rates + part
    return Stack(
        attr=_attribute_of(analysis, cls, site),
        style=first.obj.cls.dotted.rsplit(".", 1)[-1],
        site=site,
        depth=depth,
        dim=_first_number(args, _WIDTH),
        heads=_first_number(args, HEAD_COUNTS),
        tokens=_product(next((args[name] for name in _GRID if name in args), None)),
        window=_integers(args.get("window_size")),
        rates=tuple(rates) if rates else None,
        has_rates=has_rates,
    )


def _arguments(analysis: Analysis, event: Built) -> dict[str, Value]:
    """The arguments of a constructor by name, plain defaults included."""
    args = dict(event.obj.args)
    facts = event.obj.cls.facts
    method = analysis.project.method(facts, "__init__") if facts is not None else None
    if method is not None:
        names = [arg.arg for arg in method[1].args.args]
        for name, default in zip(reversed(names), reversed(method[1].args.defaults), strict=False):
            parts = default.elts if isinstance(default, ast.Tuple | ast.List) else [default]
            values = [Const(part.value) for part in parts if isinstance(part, ast.Constant)]
            if name not in args and parts and len(values) == len(parts):
                args[name] = values[0] if parts[0] is default else Seq(tuple(values))
    return args


def _attribute_of(analysis: Analysis, cls: ClassFacts, site: Site) -> str:
    for entry in analysis.project.mro(cls):
        if isinstance(entry, ClassFacts) and entry.module is site.module:
            for node in ast.walk(entry.node):
                if isinstance(node, ast.Assign) and node.lineno <= site.node.lineno <= (node.end_lineno or 0):
                    if isinstance(node.targets[0], ast.Attribute):
                        return node.targets[0].attr
    return ""


def _integer(value: Value | None) -> int | None:
    poly = poly_of(value) if value is not None else None
    constant = poly.constant if poly is not None else None
    return int(constant) if constant is not None and constant.denominator == 1 else None


def _first_number(args: dict[str, Value], names: tuple[str, ...]) -> int | None:
    return next((_integer(args[name]) for name in names if name in args), None)


def _items(value: Value | None) -> tuple[Value, ...] | None:
    if isinstance(value, Heap):
        value = value.content
    return value.items if isinstance(value, Seq) and value.rest is None else None


def _integers(value: Value | None) -> tuple[int, ...] | None:
    items = _items(value)
    found = [_integer(item) for item in items] if items is not None else [_integer(value)]
    return None if None in found else tuple(number or 0 for number in found)


def _product(value: Value | None) -> int | None:
    found = _integers(value)
    return math.prod(found) if found else None


def _floats(value: Value | None) -> list[float] | None:
    items = _items(value)
    found = items if items is not None else (value,)
    numbers = [
        item.value for item in found if isinstance(item, Const) and isinstance(item.value, int | float)
    ]
    return [float(number) for number in numbers] if len(numbers) == len(found) else None

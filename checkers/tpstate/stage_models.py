"""What a model builds with its default arguments: stacks of blocks, their depths, drop-path rates and cost.

The figures of the rules on depth and drop path, and of the report's tables, come from here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..facts.module import ClassFacts
from .analysis import Analysis
from .events import Built, Site
from .values import Const, Heap, Obj, Seq, Value, poly_of

KEPT_BY_ALL_RANKS, KEPT_SPLIT = 2 + 2, 3 + 1 + 4 + 4
"""Numbers per token and channel that a block keeps: of its LayerNorms, and those that tensor parallelism splits."""

PATCHES = ("img_size", "patch_size")

BLOCK_COUNTS = ("depth", "num_layers", "n_layers", "num_blocks", "n_blocks", "depths")

_LOCAL, _GLOBAL, _EACH_LOCAL = "num_local", "num_global", "depth_local"
"""Parts of a fuser: stacks of so many transformer blocks each, and attention between tokens and a few groups."""

RATES = ("drop_path", "drop_path_rate", "drop_path_rates", "dpr", "drop_paths")

WIDTHS = ("dim", "embed_dim", "hidden_size", "hidden_dim", "d_model")

CHANNELS = (*WIDTHS, "variables", "in_chans", "in_channels", "out_chans", "out_channels")

HEAD_COUNTS = ("num_heads", "n_heads", "num_attention_heads", "nhead")

_GRID = ("input_resolution", "output_resolution", "resolution", "grid", "img_size")

_GROUPS = ("num_groups", "n_groups")


@dataclass(frozen=True)
class Stack:
    """Blocks that one call of a constructor makes. None where a number is not known.

    `tokens` is the number of tokens a sample has there, `window` the tokens of one attention window, `rates` the
    drop-path rates of the blocks. `grouped` of the blocks see `groups` groups instead of a window.
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
    grouped: int = 0
    groups: int | None = None
    given: Mapping[str, Value] = field(default_factory=dict, compare=False, repr=False)

    @property
    def rated(self) -> int | None:
        """How many of the blocks take a drop-path rate: those that see groups may do without."""
        if self.depth is None or (self.rates is not None and len(self.rates) == self.depth):
            return self.depth
        return self.depth - self.grouped

    def rates_taken(self, is_cut: bool) -> tuple[float, ...]:
        """The rates of the blocks, where there are as many; of too many the first ones, where it `is_cut` so."""
        rates, count = self.rates or (), self.rated
        is_enough = count is not None and (len(rates) == count or (is_cut and len(rates) > count))
        return rates[:count] if is_enough else ()

    @property
    def cost(self) -> int | None:
        """Multiplications of one sample: depth x tokens x (12 dim^2 + 2 window dim), as in a transformer block.

        Where it sees groups, a block projects the tokens to keys, values, queries, back, and with what they were: it
        costs tokens x (6 dim^2 + 4 groups dim).
        """
        if self.depth is None or self.dim is None or self.tokens is None or self.window is None:
            return None
        block = 12 * self.dim**2 + 2 * math.prod(self.window) * self.dim
        grouped = block if self.groups is None else 6 * self.dim**2 + 4 * self.groups * self.dim
        return self.tokens * ((self.depth - self.grouped) * block + self.grouped * grouped)

    @property
    def kept_bytes(self) -> int | None:
        """What the blocks keep for backward of one sample in 16-bit numbers without tensor parallelism, as transformer
        blocks: inputs and outputs of both LayerNorms, q, k, v, the mixed values, and the MLP of 4 dim before and after
        its activation.
        """
        if self.depth is None or self.dim is None or self.tokens is None or self.window is None:
            return None
        return self.depth * self.tokens * self.dim * (KEPT_BY_ALL_RANKS + KEPT_SPLIT) * 2


def stacks(
    analysis: Analysis, cls: ClassFacts, given: Mapping[str, Any] = MappingProxyType({})
) -> list[Stack]:
    """The stacks of blocks a model builds, in the order in which it builds them: with its default arguments, or with
    the values `given` in place of them (None where one is not known)."""
    found: dict[tuple[str, int, int], list[tuple[Built, Site]]] = {}
    for event in analysis.built_by_default(cls, is_counted, given):
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


def blocks(analysis: Analysis, cls: ClassFacts) -> list[Stack]:
    """The single blocks a model builds with its default arguments, also those that stand in no stack."""
    found = []
    for event in analysis.built_by_default(cls, _is_block):
        facts = event.obj.cls.facts
        method = analysis.project.method(facts, "__init__") if facts not in (None, cls) else None
        site = _in_constructor(analysis, cls, event)
        if method is not None and site is not None and _is_block(event.obj, method[1]):
            found.append(_stack(analysis, cls, [(event, site)]))
    return found


def _is_block(_: Obj, method: ast.FunctionDef) -> bool:
    names = {arg.arg for arg in (*method.args.args, *method.args.kwonlyargs)}
    several = names & {*BLOCK_COUNTS, _LOCAL, _GLOBAL}
    return not several and all(names & set(kind) for kind in (WIDTHS, HEAD_COUNTS, (*_GRID, "window_size")))


def is_patches(method: ast.FunctionDef) -> bool:
    """Whether a constructor makes a patch embedding or recovery: it takes cells, patches and two widths."""
    names = {arg.arg for arg in (*method.args.args, *method.args.kwonlyargs)}
    return names >= set(PATCHES) and len(names & set(CHANNELS)) == 2


def is_counted(obj: Obj, method: ast.FunctionDef) -> bool:
    """Whether what an object costs is counted as a whole."""
    return _is_stack(obj, method) or is_patches(method)


def _is_stack(obj: Obj, method: ast.FunctionDef) -> bool:
    names = {arg.arg for arg in (*method.args.args, *method.args.kwonlyargs)}
    sized = bool(names & set(WIDTHS)) or bool(names & set(HEAD_COUNTS))
    return sized and bool(names & {*BLOCK_COUNTS, _LOCAL, _GLOBAL} or names & set(RATES))


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
    args = arguments(analysis, first)
    depth = _first_number(args, BLOCK_COUNTS)
    local, grouped = (integer(args.get(name, Const(0))) for name in (_LOCAL, _GLOBAL))
    if _LOCAL in args or _GLOBAL in args:
        each = integer(args.get(_EACH_LOCAL, Const(1)))
        if any(name in args for name in BLOCK_COUNTS):  # a stack in each part
            each, grouped = depth, _times(depth, grouped)
        own = _times(each, local)
        depth = None if own is None or grouped is None else own + grouped
    elif not any(name in args for name in BLOCK_COUNTS):
        depth = len(events)
    elif len(events) > 1:
        depth = _in_turns(analysis, [event for event, _ in events])
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
        dim=_first_number(args, WIDTHS),
        heads=_first_number(args, HEAD_COUNTS),
        tokens=product(next((args[name] for name in _GRID if name in args), None)),
        window=_integers(args.get("window_size")),
        rates=tuple(rates) if rates else None,
        has_rates=has_rates,
        grouped=grouped or 0,
        groups=_first_number(args, _GROUPS),
        given=args,
    )


def _in_turns(analysis: Analysis, events: list[Built]) -> int | None:
    """The blocks of stacks that one call makes in the turns of a loop."""
    first = events[0]
    depths = [
        _first_number(arguments(analysis, event), BLOCK_COUNTS)
        for event in events
        if event.site.key == first.site.key and event.obj.cls == first.obj.cls
    ]
    return None if None in depths else sum(depth or 0 for depth in depths)


def arguments(analysis: Analysis, event: Built) -> dict[str, Value]:
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


def integer(value: Value | None) -> int | None:
    """The whole number that a value is, None where it is not known."""
    poly = poly_of(value) if value is not None else None
    constant = poly.constant if poly is not None else None
    return int(constant) if constant is not None and constant.denominator == 1 else None


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _first_number(args: dict[str, Value], names: tuple[str, ...]) -> int | None:
    return next((integer(args[name]) for name in names if name in args), None)


def _items(value: Value | None) -> tuple[Value, ...] | None:
    if isinstance(value, Heap):
        value = value.content
    return value.items if isinstance(value, Seq) and value.rest is None else None


def _integers(value: Value | None) -> tuple[int, ...] | None:
    items = _items(value)
    found = [integer(item) for item in items] if items is not None else [integer(value)]
    return None if None in found else tuple(number or 0 for number in found)


def product(value: Value | None) -> int | None:
    """The product of whole numbers, None where one is not known."""
    found = _integers(value)
    return math.prod(found) if found else None


def _floats(value: Value | None) -> list[float] | None:
    items = _items(value)
    found = items if items is not None else (value,)
    numbers = [
        item.value for item in found if isinstance(item, Const) and isinstance(item.value, int | float)
    ]
    return [float(number) for number in numbers] if len(numbers) == len(found) else None

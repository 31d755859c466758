"""E7105"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.own_attributes import written_anywhere
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.events import AllHeadsMet, Reshaped
from ..tpstate.parameter_events import Divided
from ..tpstate.states import State
from ..tpstate.symbols import Poly
from ..tpstate.values import HEADS, PER_RANK, TP, Const, Sym, Value, poly_of
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_UNSURE = re.compile(r"#\d+$|per_(rank|partition|device|gpu)|local|partition|shard|rank|_tp\b")
"""Numbers made up for what is not known, and names that speak of one rank."""
_SHARED = re.compile(r" // (?!.*head)")
"""A quotient by something that is no head count may be the share of one rank."""
_OF_ONE_HEAD = re.compile(r"head_dim|head_size|kv_channels|per_attention_head|per_head")
_READ = re.compile(r"size#\d+")


class FullHeadsOnShardedValue(Rule):
    """A split projection is reshaped with the head count of the whole model."""

    code, symbol = "E7105", "full-heads-on-sharded-value"
    message = "a value split across the TP ranks is reshaped with the whole count `%(heads)s`"
    advice = "Use the heads of one rank: `self.%(name)s_per_rank = %(heads)s // config.tensor_model_parallel_size`."
    why = "Each TP rank holds num_heads // tp heads; sizes that multiply to the whole width do not fit its share."
    symptom = Symptom.CRASH
    runtime = "shape '[...]' is invalid for input of size ..., at tp >= 2 only"
    limits = "Silent where the head count comes from `// tp` or `divide(...)`, or the sizes cannot be multiplied out."
    guide = "Principle 10: heads per rank"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            self.num_heads = num_heads
            self.head_dim = dim // num_heads
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, _ = self.q_proj(x)
            return q.view(batch, tokens, self.num_heads, self.head_dim)  # [full-heads-on-sharded-value]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.num_heads_per_rank = num_heads // config.tensor_model_parallel_size
            self.head_dim = dim // num_heads
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            q, _ = self.q_proj(x)
            return q.view(batch, tokens, self.num_heads_per_rank, self.head_dim)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        shared = _shared_counts(analysis)
        for events in by_site(analysis.log.events, Reshaped):
            wrong = [event for event in events if full_heads(event, event.equal) is not None]
            event = first_certain(wrong)
            if event is not None and _is_divided_elsewhere(analysis.project, event):
                continue
            if event is None:
                whole = first_certain([event for event in events if _whole_width(event) is not None])
                all_heads = first_certain([event for event in events if _shared(event, shared) is not None])
                if whole is not None:
                    yield self._merged(whole)
                elif all_heads is not None and (found_ := _shared(all_heads, shared)) is not None:
                    yield self._counted(all_heads, *found_)
                continue
            heads = full_heads(event, event.equal)
            assert heads is not None
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(why(event.tensor)),
                heads=ast.unparse(event.nodes[heads]),
                name=ast.unparse(event.nodes[heads]).rsplit(".", 1)[-1],
            )
        for met in by_site(analysis.log.events, AllHeadsMet):
            found = first_certain(met)
            if found is not None:
                yield self.finding(
                    site_place(found.site),
                    object=owner_name(found),
                    evidence=evidence(why(found.tensor)),
                    message="a value that holds the heads of one rank meets one that holds all `%(heads)s`",
                    advice="Cut out those of this rank: `table.narrow(axis, rank * heads_per_rank, heads_per_rank)`.",
                    heads=found.size,
                )

    def _counted(self, event: Reshaped, index: int, divided: Divided) -> Finding:
        """All heads, which the class itself shares out, and what is left of one rank's part for the size of a head."""
        text = tr("`%(name)s` is divided by the TP size here", name=divided.name)
        step = Evidence(divided.site.module.display, divided.site.node.lineno, text)
        return self.finding(
            site_place(event.site),
            object=owner_name(event),
            evidence=(*evidence(why(event.tensor)), step),
            heads=ast.unparse(event.nodes[index]),
            name=ast.unparse(event.nodes[index]).rsplit(".", 1)[-1],
        )

    def _merged(self, event: Reshaped) -> Finding:
        first = _whole_width(event)
        assert first is not None
        sizes = [ast.unparse(node) for node in event.nodes[first:]]
        return self.finding(
            site_place(event.site),
            object=owner_name(event),
            evidence=evidence(why(event.tensor)),
            message="a value split across the TP ranks is reshaped to `%(sizes)s`, the width of all ranks together",
            advice="Use the size of one rank: heads per rank times the size of a head, which is `dim // num_heads`.",
            sizes=" x ".join(sizes),
        )


_Counts = dict[tuple[ClassFacts | None, Poly], Divided]


def _shared_counts(analysis: Analysis) -> _Counts:
    """The head counts that a class divides by the TP size: they are those of all ranks."""
    return {
        (event.owner, event.top.poly): event
        for event in analysis.log.events
        if isinstance(event, Divided) and isinstance(event.top, Sym) and HEADS in event.top.tags
    }


def _shared(event: Reshaped, shared: _Counts) -> tuple[int, Divided] | None:
    """The index of such a count, behind which `-1` takes what is left of a split value, and where it is divided."""
    index = len(event.sizes) - 2
    size = event.sizes[index] if index >= 0 and event.sizes[-1] == Const(-1) else None
    is_split = event.tensor.state is State.SHARDED and event.tensor.last
    if not is_split or not isinstance(size, Sym) or size.tags & {PER_RANK, TP}:
        return None
    divided = shared.get((event.owner, size.poly))
    return (index, divided) if divided is not None else None


def _is_divided_elsewhere(project: Project, event: Reshaped) -> bool:
    """Whether code of the tree divides the very count, on the object that it is read from."""
    heads = full_heads(event, event.equal)
    size = event.sizes[heads] if heads is not None else None
    names = [str(atom).rpartition(".")[2] for atom in size.poly.atoms()] if isinstance(size, Sym) else []
    for name in filter(str.isidentifier, names):
        divided = re.compile(rf"\.{name}(?<!self\.{name})\s*(//=|=[^=\n]*(//|divide\())")
        if written_anywhere(project, f".{name}", divided):
            return True
    return False


def _whole_width(event: Reshaped) -> int | None:
    """From which size on a view has the width of all ranks, though its tensor is one rank's share."""
    tensor, sizes = event.tensor, event.sizes
    if tensor.state is not State.SHARDED or len(sizes) < 2 or Const(-1) in sizes:
        return None
    for start in (len(sizes) - 2, len(sizes) - 1):
        after = _product(sizes[start:], event.equal)
        if after is None or after.constant is not None:
            continue
        if tensor.last and tensor.width is not None and start == len(sizes) - 2:
            if after == tensor.width.substituted(event.equal) and _is_share(sizes[start:]):
                return start
        if tensor.sizes is not None and tensor.axis is not None and start == len(sizes) - 1:
            before = _product(tensor.sizes[tensor.axis :], event.equal)
            counts = len(tensor.sizes[: tensor.axis]) == start
            if counts and before is not None and before * Poly.atom("tp") == after:
                return start
    return None


def _is_share(sizes: tuple[Value, ...]) -> bool:
    return any(isinstance(size, Sym) and PER_RANK in size.tags for size in sizes)


def _product(sizes: tuple[Value, ...], known: dict[str, Poly]) -> Poly | None:
    total = Poly.number(1)
    for size in sizes:
        poly = poly_of(size)
        if poly is None or size == Const(-1):
            return None
        total = total * poly.substituted(known)
    return total


def full_heads(event: Reshaped, known: dict[str, Poly]) -> int | None:
    """The index of a count that is shown to be the whole model's, None where it is not."""
    tensor = event.tensor
    if tensor.state is not State.SHARDED:
        return None
    if any(isinstance(size, Sym) and size.tags & {PER_RANK, TP} for size in event.sizes):
        return None
    if tensor.width is None:
        return _without_share(event)
    for index, size in enumerate(event.sizes):
        if not isinstance(size, Sym) or index + 1 >= len(event.sizes):
            continue
        if _multiplies_out(event.sizes, index, tensor.width.substituted(known), known):
            return index
    return _without_share(event)


def _without_share(event: Reshaped) -> int | None:
    """The size that stands for the split dimension where no `// tp` made any: the others are the tensor's own."""
    tensor = event.tensor
    if tensor.sizes is not None and tensor.axis is not None:
        own = [size for index, size in enumerate(tensor.sizes) if index != tensor.axis]
        left: list[int] = []
        for index, size in enumerate(event.sizes):
            if size in own:
                own.remove(size)
            else:
                left.append(index)
    elif tensor.last and tensor.role == "column" and len(event.sizes) > 2:
        left = list(range(2, len(event.sizes)))
        if not all(_is_read(size) for size in event.sizes[:2]):
            return None
    else:
        return None
    if not 1 <= len(left) <= 3 or not all(_is_whole(event.sizes[index]) for index in left):
        return None
    return next((index for index in left if _is_count(event.sizes[index])), None)


def _is_read(size: Value) -> bool:
    """Whether a size was read from a shape."""
    return isinstance(size, Sym) and any(_READ.fullmatch(atom) for atom in size.poly.atoms())


def _is_whole(size: Value) -> bool:
    """Whether a size comes from a configuration, or is that of one head."""
    if isinstance(size, Const):
        return type(size.value) is int and 0 < size.value <= 4
    if not isinstance(size, Sym) or _SHARED.search(size.text):
        return False
    return all(
        not _UNSURE.search(atom) and ("." in atom or _OF_ONE_HEAD.search(atom)) for atom in size.poly.atoms()
    )


def _is_count(size: Value) -> bool:
    return isinstance(size, Sym) and not all(_OF_ONE_HEAD.search(atom) for atom in size.poly.atoms())


def _multiplies_out(sizes: tuple[Value, ...], index: int, width: Poly, known: dict[str, Poly]) -> bool:
    product = Poly.number(1)
    for size in sizes[index:]:
        poly = poly_of(size)
        if poly is None or (isinstance(size, Const) and size.value == -1):
            return False
        product = product * poly.substituted(known)
    before = sizes[index - 1] if index else Const(1)
    groups = poly_of(before) if isinstance(before, Const) and before.value in (2, 3) else Poly.number(1)
    return product == width or (groups is not None and product * groups == width)

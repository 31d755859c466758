"""E7104"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.completion import completed_later
from ..tpstate.events import Event, ParallelCall, ShardedEscape, Site, SplitWhole, WholeNeeded
from ..tpstate.inputs import is_built_by
from ..tpstate.layers import label
from ..tpstate.provider_table import COLUMN
from ..tpstate.states import State
from ..tpstate.values import Tensor
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ShardedValueEscapes(Rule):
    """A value that is split across the TP ranks reaches something that needs the whole dimension."""

    code, symbol = "E7104", "sharded-value-escapes"
    message = "a value split across the TP ranks reaches %(consumer)s, which needs the whole last dimension"
    advice = (
        "Close the block with a RowParallelLinear(input_is_parallel=True), or gather first (`gather_output=True`, or "
        "`gather_from_tensor_model_parallel_region` on the value)."
    )
    why = "Each rank holds only dim // tp channels of it; the consumer is sized for dim."
    symptom = Symptom.CRASH
    runtime = (
        "shape mismatch at tp >= 2: mat1 and mat2 shapes cannot be multiplied, or sizes of tensors must match; "
        "softmax, argmax, norms and means run, and each rank gets a wrong result of its own"
    )
    limits = (
        "For layers: silent unless the consumer's size is seen to be the whole one (not `dim // tp`). For softmax, "
        "argmax, topk, mean, norms and the like: silent where a collective follows that may complete them."
    )
    guide = "2.4: decision tree of input_is_parallel"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.up = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=False
            )
            self.down = nn.Linear(4 * dim, dim)

        def forward(self, x):
            hidden, _ = self.up(x)
            return self.down(hidden)  # [sharded-value-escapes]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.up = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=True
            )
            self.down = nn.Linear(4 * dim, dim)

        def forward(self, x):
            hidden, _ = self.up(x)
            return self.down(hidden)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        seen: set[tuple[str, int, int]] = set()
        for finding in sorted(self._all(analysis), key=lambda finding: not finding.decided):
            start = (finding.place.path, finding.place.line, finding.place.column)
            if start not in seen:  # one place, one fault, whatever else it reaches from there
                seen.add(start)
                yield finding

    def _all(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, ShardedEscape):
            proven = [event for event in events if event.proven]
            certain = first_certain(proven)
            event = certain or events[0]
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(why(event.tensor), event.other.why if event.other is not None else None),
                decided=certain is not None,
                consumer=event.consumer,
            )
        yield from self._operations(analysis)
        for calls in by_site(analysis.log.events, ParallelCall):
            split = [call for call in calls if is_built_by(call, COLUMN) and _is_split(call)]
            certain_call = first_certain(split)
            if certain_call is not None:
                yield self.finding(
                    site_place(certain_call.site),
                    object=owner_name(certain_call),
                    evidence=evidence(why(certain_call.given)),
                    consumer=f"`{label(certain_call.layer)}`, a ColumnParallelLinear",
                )

    def _operations(self, analysis: Analysis) -> Iterator[Finding]:
        """Softmax, argmax, norms … over the split dimension; splits into sizes of the whole."""
        for site, needs in _by_user(analysis.log.events):
            certain = first_certain([need for need in needs if not completed_later(need)])
            need = certain or needs[0]
            yield self.finding(
                site_place(site),
                object=owner_name(need),
                evidence=evidence(why(need.tensor)),
                decided=certain is not None,
                consumer=_operation(need, site),
            )
        for cuts in by_site(analysis.log.events, SplitWhole):
            cut = first_certain(cuts)
            if cut is not None:
                yield self.finding(
                    site_place(cut.site),
                    object=owner_name(cut),
                    evidence=evidence(why(cut.tensor)),
                    consumer=tr("a split into sizes that add up to all ranks' width"),
                )


def _operation(need: WholeNeeded, site: Site) -> str:
    """What needs the whole dimension, with the module that runs it where that is another one."""
    if site.key == need.site.key or not isinstance(site.node, ast.Call):
        return f"`{need.operation}`"
    return tr("`%(operation)s` inside `%(call)s`", operation=need.operation, call=as_code(site.node.func))


def _by_user(events: Iterable[Event]) -> Iterator[tuple[Site, list[WholeNeeded]]]:
    """Operations by the place to blame: inside a module of another file (a norm, say), the call of that module."""
    groups: dict[tuple[str, int, int], tuple[Site, list[WholeNeeded]]] = {}
    needs = [event for event in events if isinstance(event, WholeNeeded)]
    own = {event.site.key for event in needs if _is_own(event)}
    for event in needs:
        site = event.site
        if site.key not in own or _is_own(event):
            if not _is_own(event):
                outside = (call for call in reversed(event.stack) if call.module is not site.module)
                site = next(outside, site)
            groups.setdefault(site.key, (site, []))[1].append(event)
    yield from groups.values()


def _is_own(event: Event) -> bool:
    """Whether an event happened in the class that was run, or in a base of it."""
    own = event.owner is not None and event.owner.name in _bases(event.root)
    return event.owner is event.root or own


def _bases(cls: ClassFacts | None) -> set[str]:
    return {ast.unparse(base).rsplit(".", 1)[-1] for base in cls.node.bases} if cls is not None else set()


def _is_split(event: ParallelCall) -> bool:
    given = event.given
    return isinstance(given, Tensor) and given.state is State.SHARDED and given.last

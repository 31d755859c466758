"""W7103"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Scope, Symptom
from ..tpstate.config_chain import is_unknown_copy
from ..tpstate.events import Built, ParallelCall
from ..tpstate.fixes import set_keyword, unsafe
from ..tpstate.layers import label
from ..tpstate.provider_table import COLUMN, ROW, Provider
from ..tpstate.states import State
from ..tpstate.values import Tensor
from ..tpstate.verdicts import by_site, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class InputIsParallelImplicit(Rule):
    """A parallel linear leaves it to a default whether its input is split or its output gathered."""

    code, symbol = "W7103", "input-is-parallel-implicit"
    message = "`%(layer)s` does not say `%(flag)s`; %(provider)s takes %(default)s"
    advice = "Write `%(flag)s=%(wanted)s`%(reason)s."
    why = (
        "The default differs between providers (Megatron-LM 2 gathers, Megatron-Core does not), so the same line means "
        "something else after an upgrade or a copy."
    )
    symptom = Symptom.TRAP
    runtime = "nothing today; a shape error after the provider's default changes"
    limits = "`gather_output` is asked for only where the class builds no other parallel layer."
    guide = "2.4: rules of the parallel linears"
    scope = Scope.GUIDE
    fix_kind = "unsafe"
    fix_note = "The flag is what the input seems to need, or the default of the version at hand."

    bad = """
    from megatron.mpu import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class MyDistributedMlp(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fc1 = ColumnParallelLinear(dim, 4 * dim, gather_output=False)
            self.fc2 = RowParallelLinear(4 * dim, dim)  # [input-is-parallel-implicit]

        def forward(self, x):
            x, _ = self.fc1(x)
            return self.fc2(x)[0]
    """
    good = """
    from megatron.mpu import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class MyDistributedMlp(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fc1 = ColumnParallelLinear(dim, 4 * dim)
            self.fc2 = RowParallelLinear(4 * dim, dim, input_is_parallel=True)

        def forward(self, x):
            x, _ = self.fc1(x)
            return self.fc2(x)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        layers_of: dict[object, set[object]] = defaultdict(set)
        built = [events[0] for events in by_site(analysis.log.events, Built) if _row(events[0]) is not None]
        for event in built:
            layers_of[event.owner].add(event.site.key)
        calls = [event for event in analysis.log.events if type(event) is ParallelCall]
        for event in built:
            row = _row(event)
            assert row is not None
            if event.open_keywords:
                continue
            flag = "input_is_parallel" if row.kind == ROW else "gather_output"
            alone = row.kind == ROW or (row.kind == COLUMN and len(layers_of[event.owner]) == 1)
            if not alone or not row.takes(flag) or flag in event.obj.args:
                continue
            if flag in row.required and not is_unknown_copy(analysis.project, event):
                continue  # said by parallel-layer-argument-missing
            default = row.parallel if row.kind == ROW else row.gather
            wanted, reason = _wanted(event, calls) if row.kind == ROW else (None, "")
            wanted = default if wanted is None else wanted
            if wanted is None:
                wanted = True
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                fix=unsafe(set_keyword(event.site.module, event.site.node, flag, str(wanted))),
                wanted=wanted,
                reason=reason or (tr(", which is what it does today") if default is not None else ""),
                layer=label(event.obj),
                flag=flag,
                provider=row.name,
                default=default if default is not None else tr("another default, or none, in each version"),
            )


def _wanted(event: Built, calls: list[ParallelCall]) -> tuple[bool | None, str]:
    """What the input of a row-parallel layer asks for, where all calls that are seen agree."""
    given = [call.given for call in calls if call.layer.made_at.key == event.site.key]
    states = {value.state for value in given if isinstance(value, Tensor)}
    if len(given) and states == {State.SHARDED}:
        return True, tr(", because its input is split")
    if len(given) and states == {State.FULL}:
        return False, tr(", because its input is full")
    return None, ""


def _row(event: Built) -> Provider | None:
    return event.obj.provider

"""E7314"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import NoneUsed
from ..tpstate.verdicts import by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ForwardReturnsNone(Rule):
    """A forward returns nothing on some path, and its caller uses the result."""

    code, symbol = "E7314", "forward-returns-none"
    message = "`%(forward)s` returns None%(when)s, and %(how)s"
    advice = "End every path of `%(forward)s` in `return …`, or raise a clear error where there is nothing to return."
    why = "A forgotten `return` gives None without an error; the failure shows in the module that uses it."
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'NoneType' object has no attribute 'shape', in another file than the fault"
    limits = (
        "Silent where more than one open condition leads to the end of the forward, and where a written `return None` "
        "depends on an open condition."
    )
    guide = "beyond the guide"
    maturity = "stable"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

        def forward(self, x):
            x, _ = self.fc(x)


    class Block(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.mlp = Mlp(dim, config)

        def forward(self, x):
            return x + self.mlp(x)  # [forward-returns-none]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Mlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

        def forward(self, x):
            x, _ = self.fc(x)
            return x


    class Block(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.mlp = Mlp(dim, config)

        def forward(self, x):
            return x + self.mlp(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, NoneUsed):
            event = first_certain(events)
            chosen = event or events[0]
            yield self.finding(
                site_place(chosen.site),
                object=owner_name(chosen),
                decided=event is not None,
                forward=chosen.forward,
                when=" on one of its paths" if chosen.choice else "",
                how=chosen.how,
            )

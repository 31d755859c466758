"""E7314"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.data_reads import stages_of
from ..project.function_returns import falls_off, is_none, is_plain
from ..project.scopes import Scope
from ..project.stages import Stages
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.events import NoneUsed
from ..tpstate.none_results import none_results
from ..tpstate.verdicts import by_site, first_certain, owner_name, place_of, site_place

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
        "Silent where more than one open condition leads to the end of the forward. A written `return None` under a "
        "test for a missing argument counts where the caller allows that it is missing. Of a training script, the "
        "functions that `pretrain` is given."
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
                when=tr(" on one of its paths") if chosen.choice else "",
                how=chosen.how,
            )
        for result in none_results(analysis):
            yield self.finding(
                place_of(result.module, result.used),
                object=result.caller.name,
                evidence=(
                    Evidence(
                        result.callee.module.display,
                        result.returned.lineno,
                        tr("it returns None here, where `%(name)s` is None", name=result.name),
                    ),
                ),
                forward=f"{result.callee.name}.forward",
                when=tr(
                    " where `%(name)s` is None, which `%(caller)s` allows",
                    name=result.name,
                    caller=result.caller.name,
                ),
                how=tr("`%(used)s` takes the result as a tensor", used=ast.unparse(result.used)[:60]),
            )
        for scope, owner, how in _called_by_the_schedule(analysis):
            yield from self._without_value(scope, owner, how)

    def _without_value(self, scope: Scope, owner: str, how: str) -> Iterator[Finding]:
        """Ends of one function without a value."""
        function = scope.function
        assert function is not None
        returns = scope.of(ast.Return)
        empty: list[tuple[ast.AST, bool]] = [
            (node, len(returns) == 1) for node in returns if is_none(node.value)
        ]
        if falls_off(function.body):
            last = function.body[-1]
            by_stage = isinstance(last, ast.If) and bool(stages_of(last.test, scope)[0])
            is_open = isinstance(last, ast.If | ast.Try | ast.With | ast.Match | ast.For | ast.While)
            empty.append((last, not returns or by_stage or not is_open))
        for node, decided in empty:
            yield self.finding(
                place_of(scope.module, node if returns else function),
                object=owner,
                decided=decided,
                forward=f"{owner}.forward" if owner else function.name,
                when=tr(" on one of its paths")
                if len(returns) > 1 or (returns and not is_none(returns[0].value))
                else "",
                how=how,
            )


def _called_by_the_schedule(analysis: Analysis) -> Iterator[tuple[Scope, str, str]]:
    """The functions and stages whose result Megatron uses: the function, its class, and what becomes of the result."""
    for script in analysis.project.knowledge(Training):
        for parameter, how in _HANDED.items():
            scope = script.handed(parameter)
            if scope is not None and is_plain(scope):
                yield scope, "", how
    for stage in analysis.project.knowledge(Stages):
        forward = stage.cls.methods.get("forward")
        if forward is not None and (stage.is_first or stage.is_last or stage.previous is not None):
            scope = Scope(stage.cls.module, forward)
            if is_plain(scope):
                yield (
                    scope,
                    stage.cls.name,
                    tr("the loss takes it") if stage.is_last else tr("the next stage receives it"),
                )


_HANDED = {
    "model_provider": tr("Megatron trains the model that it returns"),
    "forward_step_func": tr("the schedule takes an output and a loss function from it"),
}

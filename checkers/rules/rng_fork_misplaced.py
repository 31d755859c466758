"""W7719"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.enclosing import around_call, is_forked
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.events import Dropped
from ..tpstate.states import State
from ..tpstate.tokens import OWN, is_flag
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_FORK = re.compile(r"rng_tracker\(\)\s*\.fork\(")
_KEPT = re.compile(r"(=|return|yield|else)\s+[\w.]*rng_tracker\(\)\s*\.fork\(")


class RngForkMisplaced(Rule):
    """Split values are dropped outside the forked generator, or whole ones inside it."""

    code, symbol = "W7719", "rng-fork-misplaced"
    message = "%(what)s"
    advice = "%(typed)s"
    why = (
        "The default generator gives the same numbers on all tensor-parallel ranks, the forked one others on each. "
        "What is split needs its own mask on each rank; copies of one value need the same mask to stay copies."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "nothing fails; heads of two ranks share a mask, or replicated values drift apart within one layer"
    )
    limits = "Only where the tree uses the forked generator elsewhere, and the value is followed from a parallel layer."
    guide = "beyond the guide"
    bad = """
    import torch.nn.functional as F
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.up = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=False
            )
            self.down = RowParallelLinear(
                4 * dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            hidden, _ = self.up(x)
            hidden = F.dropout(hidden, 0.1)  # [rng-fork-misplaced]
            out, _ = self.down(hidden)
            with get_cuda_rng_tracker().fork():
                return F.dropout(out, 0.1)  # [rng-fork-misplaced]
    """
    good = """
    import torch.nn.functional as F
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.up = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=False
            )
            self.down = RowParallelLinear(
                4 * dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            hidden, _ = self.up(x)
            with get_cuda_rng_tracker().fork():
                hidden = F.dropout(hidden, 0.1)
            out, _ = self.down(hidden)
            return F.dropout(out, 0.1)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if not analysis.project.knowledge(_forks):
            return
        for events in by_site(analysis.log.events, Dropped):
            forked = _is_forked(events[0])
            if forked is None:
                continue
            wrong = [event for event in events if _is_wrong(event, forked)]
            event = first_certain(wrong) or next((event for event in wrong if event.settled), None)
            if event is not None:
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    what=tr("a value that is whole on every rank is dropped with another mask on each")
                    if forked
                    else tr("a value that is split over the ranks is dropped with the same mask on each"),
                    typed=tr(
                        "Take it out of `with get_cuda_rng_tracker().fork():`, under sequence parallelism too."
                    )
                    if forked
                    else tr("Put it under `with get_cuda_rng_tracker().fork():`."),
                )


def _is_wrong(event: Dropped, forked: bool) -> bool:
    tensor = event.tensor
    taken = {**event.choice, **event.branch}
    if forked and any(side and is_flag(key) for key, side in taken.items()):
        return False
    if forked:
        return tensor.state is State.FULL and tensor.role == "row" and tensor.tokens is None
    return tensor.state is State.SHARDED or _is_own(event)


def _is_own(event: Dropped) -> bool:
    """Whether each rank has its own tokens here, for the flag as it stands."""
    tokens = event.tensor.tokens
    if tokens is None or tokens.held != OWN:
        return False
    taken = {**event.choice, **event.branch}
    return not tokens.key or taken.get(tokens.key, True)


def _is_forked(event: Dropped) -> bool | None:
    """Whether the call stands under the forked generator; None where that is not seen."""
    function = event.site.function
    if not isinstance(function, ast.FunctionDef):
        return None
    around = around_call(function, event.site.node)
    if around is None or _is_fallback(event.site.node, around):
        return None
    callers = [
        around_call(site.function, site.node)
        for site in event.stack
        if isinstance(site.function, ast.FunctionDef)
    ]
    return None if any(is_forked(outer or ()) for outer in callers) else is_forked(around)


def _is_fallback(node: ast.AST, around: tuple[ast.AST, ...]) -> bool:
    """Whether the other side of a test forks for the same dropout: where there is no generator to fork, it cannot."""
    same = ast.unparse(node)
    for block in around:
        if isinstance(block, ast.If) and not is_flag(ast.unparse(block.test)):
            sides = [
                side for side in (block.body, block.orelse) if not any(node in walk(part) for part in side)
            ]
            for part in (inner for side in sides for statement in side for inner in walk(statement)):
                if isinstance(part, ast.With) and is_forked((part,)) and same in map(ast.unparse, walk(part)):
                    return True
    return False


def _forks(project: Project) -> bool:
    """Whether the tree forks where it drops: a context that is kept in a variable may stand around other modules."""
    own = [module for module in project.modules if not project.is_framework(module)]
    return any(module.says(_FORK) for module in own) and not any(module.says(_KEPT) for module in own)

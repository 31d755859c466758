"""W7609"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding, Place
from ..language import tr
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import by_written_call
from ..tpstate.events import Rejected
from ..tpstate.verdicts import place_of, site_place
from ..twins.describe import problem, source
from ..twins.marked import Marked, crowded_marks, stale_marks, unmarked
from .depth_differs_from_original import DepthDiffersFromOriginal

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DiffersFromOriginal(Rule):
    """The distributed code does something else than the code that it was made from."""

    code, symbol = "W7609", "differs-from-original"
    message = "%(problem)s"
    advice = "Write it as the original does, or say why it differs: `# onescience: differs` and the reason, behind it."
    why = (
        "Splitting a model changes where it is computed, not what. Another constant, order, activation or argument "
        "gives another model: the original's weights and its results no longer fit, and nothing fails."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: losses and outputs drift from those of the original model"
    limits = (
        "Both are read as one rank with default arguments runs them: layers split over ranks, checkpoints, copies, "
        "casts and shapes are left out. Silent where the two cannot be aligned. Depths, heads and drop-path rates of "
        "stages have rules of their own."
    )
    guide = "1.2: parameters and initialisation stay those of the original"
    scope = Scope.GUIDE

    bad = """
    import torch
    from torch import nn

    from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


    class IceMlp(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            self.fc1 = nn.Linear(dim, hidden)
            self.act = nn.GELU()
            self.fc2 = nn.Linear(hidden, dim)

        def forward(self, x):
            return x + self.fc2(self.act(self.fc1(x)))


    class IceDistributedMlp(nn.Module):
        def __init__(self, dim, hidden, config=None):
            super().__init__()
            self.fc1 = ColumnParallelLinear(
                dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False
            )
            self.act = nn.ReLU()  # [differs-from-original]
            self.fc2 = RowParallelLinear(
                hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
            )

        def forward(self, x):
            out, _ = self.fc1(x)
            out, _ = self.fc2(self.act(out))
            return x + out
    """
    good = bad.replace("nn.ReLU()  # [differs-from-original]", "nn.GELU()")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        refused = {
            site_place(site) for site, _, sure in by_written_call(analysis.log.events, Rejected) if sure
        }
        sized = DepthDiffersFromOriginal().check(analysis)  # heads and windows of stages are said there
        refused |= {edit.place for found in sized if found.fix is not None for edit in found.fix.edits}
        for marked in unmarked(analysis.project):
            mine = marked.difference.mine
            if place_of(mine.module, mine.node) not in refused:
                yield self._finding(marked)  # a call that its target refuses is one fault, of E7307 or E7313
        for module, mark, why in stale_marks(analysis.project):
            place = Place(module.display, mark.line, mark.column, mark.line, mark.column + len(mark.text))
            yield self.finding(
                place, problem=why, advice="Take the comment out, or give a reason behind `differs`."
            )

        for module, mark, lines in crowded_marks(analysis.project):
            yield self.finding(
                Place(module.display, mark.line, mark.column, mark.line, mark.column + len(mark.text)),
                problem=tr(
                    "this mark stands above %(number)s differences (lines %(lines)s), and which is meant is not said",
                    number=len(lines),
                    lines=", ".join(map(str, lines)),
                ),
                advice="Put `# onescience: differs` and the reason behind each of these lines.",
            )

    def _finding(self, marked: Marked) -> Finding:
        twin, difference = marked.twin, marked.difference
        evidence = [Evidence(difference.theirs.module.display, difference.theirs.line, tr("the original"))]
        made = difference.made
        if made is not None:
            evidence.append(
                Evidence(made.module.display, made.line, tr("comes from `%(made)s`", made=source(made)))
            )
        return self.finding(
            place_of(difference.mine.module, difference.mine.node),
            object=twin.name,
            evidence=tuple(evidence),
            problem=problem(difference, twin.original.name),
            decided=difference.decided,
        )

"""E7724"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.absent import Absent, absent_in, uses
from ..spmd.frames import Frame, functions, returns
from ..spmd.reports import emptied
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ABSENT = re.compile(r"(=|\belse)\s*None\b")
_SCHEDULES = re.compile(r"forward_backward_func|forward_backward_(no_)?pipelining")
_ASKS = re.compile(r"rank|is_pipeline_")


class NoneOnSomeRanks(Rule):
    """A value that only some ranks make, and that is None on the others, is used on all."""

    code, symbol = "E7724", "none-on-some-ranks"
    message = (
        "`%(text)s` is None or empty on ranks for which `%(test)s` does not hold, but `%(use)s` runs on all"
    )
    advice = "Use `%(text)s` where it was made, and tell the other ranks what they need with a broadcast."
    why = "Loaders and data sets are often built on one rank of a group; the others share what it reads."
    symptom = Symptom.CRASH
    runtime = "TypeError or AttributeError on None, on every rank but those that made it."
    limits = (
        "For a local variable, also handed back by a function in a dict, a tuple or alone. Silent behind any test that "
        "names the value or asks for the own rank, and inside a try."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state
    from torch.utils.data import DataLoader


    def steps(dataset, epochs):
        loader = None
        if parallel_state.get_tensor_model_parallel_rank() == 0:
            loader = DataLoader(dataset)
        return len(loader) * epochs  # [none-on-some-ranks]
    """
    good = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch.utils.data import DataLoader


    def steps(dataset, epochs):
        loader = None
        count = torch.zeros(1)
        if parallel_state.get_tensor_model_parallel_rank() == 0:
            loader = DataLoader(dataset)
            count[0] = len(loader)
        source = parallel_state.get_tensor_model_parallel_src_rank()
        dist.broadcast(count, source, group=parallel_state.get_tensor_model_parallel_group())
        return int(count) * epochs
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        yield from self._emptied(analysis)
        for frame in functions(analysis.project, _ASKS):
            for text, absent in _held(frame):
                for node in uses(
                    frame, text, absent.line if absent.frame.scope is frame.scope else 0, absent.plain
                ):
                    test = ast.unparse(absent.test)
                    made = tr(
                        "`%(absent)s` stays None where `%(test)s` does not hold",
                        absent=absent.name,
                        test=test,
                    )
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.function_name,
                        evidence=(Evidence(absent.frame.module.display, absent.test.lineno, made),),
                        text=text,
                        test=test,
                        use=ast.unparse(node)[:60],
                    )
                    break

    def _emptied(self, analysis: Analysis) -> Iterator[Finding]:
        """The list of losses that a schedule returns is empty on all stages but the last."""
        for frame in functions(analysis.project, _SCHEDULES):
            for node, name in emptied(frame):
                text = tr("the schedule returns losses on the last stage only; elsewhere the list is empty")
                yield self.finding(
                    place_of(frame.module, node),
                    object=frame.function_name,
                    evidence=(Evidence(frame.module.display, node.lineno, text),),
                    text=name,
                    test="is_pipeline_last_stage()",
                    use=ast.unparse(node)[:60],
                )
                break


def _held(frame: Frame) -> Iterator[tuple[str, Absent]]:
    """Texts that stand for a value which is None on some ranks: a variable, or an item that a helper gave back."""
    if frame.module.says(_ABSENT):
        yield from ((absent.name, absent) for absent in absent_in(frame))
    for name, values in frame.scope.bound.items():
        call = values[0] if len(values) == 1 else None
        inner = frame.callee(call) if isinstance(call, ast.Call) and "." not in name else None
        if inner is None or not (inner.module.says(_ABSENT) and inner.module.says(_ASKS)):
            continue
        given = returns(inner)
        for absent in absent_in(inner) if len(given) == 1 else ():
            value = given[0]
            if isinstance(value, ast.Name) and value.id == absent.name:
                yield name, absent
            elif isinstance(value, ast.Dict):
                for key, item in zip(value.keys, value.values, strict=True):
                    if key is not None and isinstance(item, ast.Name) and item.id == absent.name:
                        yield f"{name}[{ast.unparse(key)}]", absent

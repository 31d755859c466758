"""W7706"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Collective, Entered
from ..spmd.frames import Frame, functions, names_in
from ..spmd.names import TP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_PICKS = re.compile(r"\.gather\(|take_along_dim|\[torch\.arange|\[range|index_select\(|one_hot\(")
_MASKS = re.compile(
    r"masked_fill|torch\.where|\* *\w*(mask|mine|inside|valid|own|local|hit)|\w*(mask|mine|inside)\w* *\*|\[~?\w+\] *="
)


class CollectiveWithoutAutograd(Rule):
    """One rank's masked pick out of normalised scores is all-reduced, and the other ranks get no gradient."""

    code, symbol = "W7706", "collective-without-autograd"
    message = (
        "`%(pick)s` is picked, by the rank that owns it, out of `%(source)s`, which holds `%(total)s` already: the "
        "other ranks' share of the gradient of `%(total)s` is lost"
    )
    advice = (
        "Pick from the raw scores, all-reduce the pick, and subtract the logarithm of the sum afterwards, or use "
        "`vocab_parallel_cross_entropy`, whose backward knows its collectives."
    )
    why = (
        "A raw all-reduce passes the gradient on as it is. That is right for a sum to which each rank adds. A masked "
        "pick is zero on all ranks but one, and with it the way back through the normalisation that all ranks share."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no exception, and the forward is right; shards that do not own the target get a zero gradient"
    limits = (
        "Only where the sum, the pick, its mask and both all-reduces over the tensor-parallel group stand in one "
        "function that is no autograd function's, and no gradient is switched off."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def log_prob(scores, label):
        group = parallel_state.get_tensor_model_parallel_group()
        width = scores.size(-1)
        total = scores.exp().sum(-1)
        dist.all_reduce(total, group=group)
        log_p = scores - total.log().unsqueeze(-1)
        own = label - parallel_state.get_tensor_model_parallel_rank() * width
        mask = (own >= 0) & (own < width)
        picked = log_p.gather(-1, own.clamp(0, width - 1).unsqueeze(-1)).squeeze(-1) * mask
        dist.all_reduce(picked, group=group)  # [collective-without-autograd]
        return picked
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def log_prob(scores, label):
        group = parallel_state.get_tensor_model_parallel_group()
        width = scores.size(-1)
        total = scores.exp().sum(-1)
        dist.all_reduce(total, group=group)
        own = label - parallel_state.get_tensor_model_parallel_rank() * width
        mask = (own >= 0) & (own < width)
        picked = scores.gather(-1, own.clamp(0, width - 1).unsqueeze(-1)).squeeze(-1) * mask
        dist.all_reduce(picked, group=group)
        return picked - total.log()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, re.compile(r"all_reduce\("), _PICKS):
            found = _lost(frame)
            if found is not None:
                entry, pick, source, total = found
                yield self.finding(
                    place_of(frame.module, entry.node),
                    object=frame.function_name,
                    evidence=(
                        Evidence(
                            frame.module.display,
                            total.node.lineno,
                            tr("`%(name)s` is summed over the ranks here", name=_given(total)),
                        ),
                    ),
                    pick=pick,
                    source=source,
                    total=_given(total),
                )


def _lost(frame: Frame) -> tuple[Collective, str, str, Collective] | None:
    function = frame.scope.function
    if not isinstance(function, ast.FunctionDef) or _no_gradient(frame, function):
        return None
    sums = [
        entry
        for entry in frame.project.knowledge(Entered).of(frame)
        if entry.name == "all_reduce"
        and entry.axes == TP
        and "MAX" not in ast.unparse(entry.node)
        and _given(entry)
    ]
    made = _assigned(function)
    for entry in sums:
        pick = _given(entry)
        value = made.get(pick)
        if value is None or not _PICKS.search(ast.unparse(value)) or not _is_masked(function, value, pick):
            continue
        for total in sums:
            name = _given(total)
            if total.node.lineno >= entry.node.lineno or name == pick:
                continue
            source = next((part for part in _sources(value) if name in _behind(part, made)), None)
            if source is not None:
                return entry, pick, source, total
    return None


def _given(entry: Collective) -> str:
    """The variable that is reduced in place."""
    first = entry.node.args[0] if entry.node.args else None
    return first.id if isinstance(first, ast.Name) else ""


def _assigned(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """The last value of each variable of the function that is set once or more by a plain assignment."""
    return {
        node.targets[0].id: node.value
        for node in walk(function)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }


def _is_masked(function: ast.FunctionDef, value: ast.expr, pick: str) -> bool:
    text = ast.unparse(function)
    stored = re.search(rf"\b{re.escape(pick)}\[[^\]]+\] = 0", text)
    return bool(_MASKS.search(ast.unparse(value)) or stored)


def _sources(value: ast.expr) -> list[str]:
    """What is picked from: the object of `.gather(…)`, `x[…]`, the first argument of `torch.gather`."""
    found = []
    for node in walk(value):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "gather":
            base = node.args[0] if ast.unparse(node.func.value) == "torch" and node.args else node.func.value
            found += [base.id] if isinstance(base, ast.Name) else []
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            found.append(node.value.id)
    return found


def _behind(name: str, made: dict[str, ast.expr], depth: int = 0) -> set[str]:
    """The variables that a variable is made of."""
    value = made.get(name)
    if value is None or depth > 4:
        return set()
    direct = names_in(value) - {name}
    return direct.union(*(_behind(part, made, depth + 1) for part in direct))


def _no_gradient(frame: Frame, function: ast.FunctionDef) -> bool:
    """Whether the function's backward is written by hand, or there is none."""
    bases = [ast.unparse(base) for base in frame.cls.node.bases] if frame.cls is not None else []
    decorators = " ".join(ast.unparse(decorator) for decorator in function.decorator_list)
    text = frame.module.text_of(function) + decorators
    return any(base.endswith("Function") for base in bases) or "no_grad" in text or "inference_mode" in text

"""E7737"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CLIPS = re.compile(r"clip_grad\w*|clip_gradients?|clip_\w*norm\w*")
_KNOWN = frozenset("finalize_model_grads allreduce_gradients finish_grad_sync all_reduce_gradients".split())
_DEPTH = 3


class ClippedBeforeComplete(Rule):
    """Gradients are clipped by their norm before the ranks' parts of them are summed."""

    code, symbol = "E7737", "clipped-before-complete"
    message = "`%(clip)s` measures and scales the gradients before `%(sum)s` sums them over the ranks"
    advice = "Call `%(sum)s` first, and clip what it leaves."
    why = (
        "Before the sum a rank holds a part of some gradients (of norms under sequence parallelism, of replicas, of "
        "tied weights). Their norm and so the factor is another one on each rank: the sum of scaled parts is no "
        "scaled sum."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; replicated parameters drift apart after the first clipped step"
    limits = (
        "Only where both stand in one function, in this order, in front of the optimizer's step, and the second is "
        "seen to all-reduce gradients."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def sum_over_replicas(model):
        for p in model.parameters():
            dist.all_reduce(p.grad, group=parallel_state.get_data_parallel_group())


    def clip_grads(model, limit):
        total = sum(p.grad.pow(2).sum() for p in model.parameters())
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        for p in model.parameters():
            p.grad.mul_((limit / total.sqrt()).clamp(max=1.0))


    def step(model, optimizer, limit):
        clip_grads(model, limit)  # [clipped-before-complete]
        sum_over_replicas(model)
        optimizer.step()
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def sum_over_replicas(model):
        for p in model.parameters():
            dist.all_reduce(p.grad, group=parallel_state.get_data_parallel_group())


    def clip_grads(model, limit):
        total = sum(p.grad.pow(2).sum() for p in model.parameters())
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        for p in model.parameters():
            p.grad.mul_((limit / total.sqrt()).clamp(max=1.0))


    def step(model, optimizer, limit):
        sum_over_replicas(model)
        clip_grads(model, limit)
        optimizer.step()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, re.compile(r"clip"), re.compile(r"\.step\(|zero_grad")):
            found = _order(frame)
            if found is not None:
                clip, total = found
                yield self.finding(
                    place_of(frame.module, clip),
                    object=frame.function_name,
                    evidence=(
                        Evidence(frame.module.display, total.lineno, tr("the gradients are summed here")),
                    ),
                    clip=ast.unparse(clip.func),
                    sum=ast.unparse(total.func),
                )


def _order(frame: Frame) -> tuple[ast.Call, ast.Call] | None:
    """A clip, and the sum behind it that nothing did before it."""
    calls = sorted(frame.scope.calls, key=lambda node: node.lineno)
    clips = [call for call in calls if _clips(call, frame)]
    steps = [call for call in calls if last_name(call.func) == "step"]
    if len(clips) != 1 or not steps:
        return None
    sums = [call for call in calls if call is not clips[0] and _completes(call, frame)]
    behind = [call for call in sums if clips[0].lineno < call.lineno < steps[-1].lineno]
    if behind and len(behind) == len(sums) and not any(step.lineno < clips[0].lineno for step in steps):
        return clips[0], behind[0]
    return None


def _clips(call: ast.Call, frame: Frame) -> bool:
    """A call that scales gradients by their norm, by its name or by what the function of the tree does."""
    name = last_name(call.func)
    if name != "clip":
        return _CLIPS.fullmatch(name) is not None
    inner = frame.callee(call)
    function = inner.scope.function if inner is not None else None
    return inner is not None and function is not None and ".grad" in inner.module.text_of(function)


def _completes(call: ast.Call, frame: Frame, depth: int = 0) -> bool:
    """Whether a call sums gradients over ranks."""
    if last_name(call.func) in _KNOWN:
        return True
    inner = frame.callee(call)
    if inner is None or inner.scope.function is None or depth > _DEPTH:
        return False
    text = inner.module.text_of(inner.scope.function)
    deeper = map(inner.callee, inner.scope.calls)
    if ".grad" in text and (_sums(inner) or any(frame is not None and _sums(frame) for frame in deeper)):
        return True
    return any(_completes(node, inner, depth + 1) for node in inner.scope.calls)


def _sums(frame: Frame) -> bool:
    """Whether a function all-reduces gradients in place, or copies sums back into them."""
    function = frame.scope.function
    copied = function is not None and ".copy_(" in frame.module.text_of(function)
    return any(
        entry.name == "all_reduce" and (copied or "grad" in ast.unparse(entry.node.args[0]))
        for entry in frame.project.knowledge(Entered).of(frame)
        if entry.node.args
    )

"""One micro-batch forward and backward: through the original, and through all stages as a pipeline would."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from .comparing import Reference
from .script import call_step
from .smallrun import Failed, SmallRun
from .watching import Passed, Watcher


@dataclass
class Pass:
    """What one pass left.

    Args:
        output: the result, its first tensor.
        loss: the loss.
        passed: what went through the modules.
        x: gradient of the input.
        gradients: of the parameters, by name (the original's pass alone).
        outputs: the result as it was returned.
        loss_func: what the script gave for this micro-batch.
        given: what the first stage was given.
        sent: what each stage but the last sends.
    """

    output: torch.Tensor
    loss: float
    passed: Passed
    x: torch.Tensor | None
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    outputs: object = None
    loss_func: Callable | None = None
    given: torch.Tensor | None = None
    sent: list[list[torch.Tensor]] = field(default_factory=list)


def through_original(
    run: SmallRun, x: torch.Tensor, loss_of: Callable, watch: bool = True, backward: bool = True
) -> Pass:
    """The plain model."""
    passed = Passed()
    watcher = Watcher(passed)
    if watch:
        watcher.watch(run.original)
    x = x.detach().clone().requires_grad_()
    run.original.zero_grad(set_to_none=True)
    output = run.original(x)
    watcher.end()
    loss = loss_of(output)
    if backward and (loss.requires_grad or not run.is_one_rank):
        with run.world_of_original():
            loss.backward()
    gradients = {n: p.grad.clone() for n, p in run.original.named_parameters() if p.grad is not None}
    return Pass(first_of(output).detach(), loss.item(), passed, x.grad, gradients)


def through_stages(
    run: SmallRun, batch: list[torch.Tensor], others: Iterable, watch: bool = True, backward: bool = True
) -> Pass:
    """All stages; `others` are the batches that follow this one."""
    passed = Passed()
    received: list[torch.Tensor] | None = None
    kept: list[tuple[list[torch.Tensor] | None, list[torch.Tensor]]] = []
    given: list[torch.Tensor] = []
    first_input = None
    for number, stage in enumerate(run.stages):
        run.number = number
        run.tracker.reset()
        stage.zero_grad(set_to_none=True)
        watcher = Watcher(passed)
        if watch:
            watcher.watch(stage)
        if number == 0:
            seen = stage.register_forward_pre_hook(lambda module, args: given.extend(args[:1]))
        versions = [t._version for t in received or ()]
        if received is not None:
            stage.set_input_tensor(list(received))
        x = batch[0].detach().clone().requires_grad_()
        output, loss_func, problem = call_step(
            run.script, stage, number, run.count, iter([[x, batch[1]], *others]), x
        )
        watcher.end()
        if number == 0:
            seen.remove()
            first_input = x
        if problem and problem not in run.notes:
            run.notes.append(problem)
        _unchanged(run, number, received or [], versions)
        if number == run.count - 1:
            kept.append((received, [loss_of(run, output, loss_func)]))
        else:
            tensors = _sent(run, number, output)
            kept.append((received, tensors))
            received = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]
    loss = kept[-1][1][0].item()
    if backward and (kept[-1][1][0].requires_grad or not run.is_one_rank):
        _backward(run, kept)
        _sum_of_sequence(run)
        _sum_of_parts(run, first_input)
    run.number = None
    model_input = given[0].detach() if given and isinstance(given[0], torch.Tensor) else None
    gradient = first_input.grad if first_input is not None else None
    result = first_of(output).detach()
    sent = [[tensor.detach() for tensor in tensors] for _, tensors in kept[:-1]]
    return Pass(result, loss, passed, gradient, {}, output, loss_func, model_input, sent)


def loss_of(run: SmallRun, output, loss_func: Callable | None) -> torch.Tensor:
    """The loss as Megatron takes it from the script, or one of our own where the script's cannot be used."""
    if loss_func is None:
        first = first_of(output)
        shape = run.whole_output or first.shape
        weights = torch.linspace(0.5, 1.5, math.prod(shape)).view(shape)
        part = Reference(weights, 0.0).share(first, run.plan.tp, run.tp_rank)
        return (weights if part is None else part).mul(first).square().sum() / math.prod(shape)
    returned = loss_func(output)
    if not isinstance(returned, tuple | list) or len(returned) not in (2, 3):
        run.add_to_script(
            "data", "loss_func does not return (loss, num_tokens, report)", "loss-return-contract"
        )
        raise Failed
    tokens = torch.as_tensor(returned[1]) if len(returned) == 3 else torch.ones(())
    return returned[0] / tokens.clamp(min=1)


def _sent(run: SmallRun, number: int, output) -> list[torch.Tensor]:
    tensors = [output] if isinstance(output, torch.Tensor) else output
    if not isinstance(tensors, tuple | list) or not all(isinstance(t, torch.Tensor) for t in tensors):
        run.add("boundary", "it sends something that is no tensor", number, "", "stage-passes-non-tensor")
        raise Failed
    return list(tensors)


def _unchanged(run: SmallRun, number: int, received: list[torch.Tensor], versions: list[int]) -> None:
    for index, (tensor, version) in enumerate(zip(received, versions, strict=True)):
        if tensor._version != version:
            text = f"received tensor {index} is changed in place"
            run.add("boundary", text, number, "", "received-tensor-changed-in-place")


def _backward(run: SmallRun, kept: list[tuple[list[torch.Tensor] | None, list[torch.Tensor]]]) -> None:
    """Backward through the stages, the last first: each hands the gradients of what it received on."""
    gradients: list[torch.Tensor | None] | None = None
    for number in reversed(range(len(kept))):
        run.number = number
        received, tensors = kept[number]
        coming = [None] * len(tensors) if gradients is None else gradients
        pairs = [
            (tensor, gradient)
            for tensor, gradient in zip(tensors, coming, strict=True)
            if tensor.requires_grad and (gradient is not None or gradients is None)
        ]
        if not pairs:
            text = "backward cannot reach this stage: nothing that it sends has a gradient"
            run.add("gradient", text, number, "", "boundary-tensor-without-gradient")
            raise Failed
        torch.autograd.backward([t for t, _ in pairs], [g for _, g in pairs])
        gradients = [tensor.grad for tensor in received or ()]
        for index, tensor in enumerate(received or ()):
            if tensor.is_floating_point() and tensor.grad is None:
                text = f"received tensor {index} gets no gradient, which the stage before waits for"
                run.add("gradient", text, number, "", "boundary-tensor-without-gradient")


@torch.no_grad()
def _sum_of_sequence(run: SmallRun) -> None:
    """As Megatron ends a backward: gradients of what is marked as seeing a part of the sequence are summed."""
    if not getattr(run.script.args, "sequence_parallel", False):
        return
    for stage in run.stages:
        for parameter in stage.parameters():
            if getattr(parameter, "sequence_parallel", False) and parameter.grad is not None:
                dist.all_reduce(parameter.grad)


@torch.no_grad()
def _sum_of_parts(run: SmallRun, x: torch.Tensor | None) -> None:
    """Ranks that share the tokens have each a part of the gradients; Megatron's data-parallel sum includes them."""
    if run.plan.parts == 1:
        return
    from megatron.core import parallel_state

    group = parallel_state.get_context_parallel_group()
    wanted = [p for stage in run.stages for p in stage.parameters() if p.requires_grad]
    for tensor in (*wanted, *([] if x is None else [x])):
        if tensor.grad is None:
            tensor.grad = torch.zeros_like(tensor)
        dist.all_reduce(tensor.grad, group=group)


def first_of(output) -> torch.Tensor:
    """The result itself, or its first tensor."""
    return output if isinstance(output, torch.Tensor) else output[0]

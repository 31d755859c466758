"""Where the stages compute something else than the original, led back to the module where it begins."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist

from ..process_groups import pipeline_rank
from . import matching, properties, weights
from .comparing import Reference
from .draws import KeepAll
from .passes import Pass, loss_of, through_original, through_stages
from .smallrun import Failed, SmallRun

STEPS = 3
_RATE = 0.05  # of the largest weight of a tensor: how far the first step moves it at most
_ROUNDING = 1e-7  # by which the weights of the disturbed run are off
# Three steps amplify what one gradient is off by the curvature of the loss; a step that was left out, or a wrong one,
# moves the loss by a percent and more.
_LOSS = 1e-3

Key = tuple[str, str]


def compare(run: SmallRun) -> None:
    """Outputs, loss, gradients and three steps, with random parts kept whole."""
    data = batches(run, 4)
    with run.mode(KeepAll()):
        made = through_stages(run, data[0], data[1:])
        x = _what_the_model_saw(run, made, data[0])
        _loss_is_sound(run, made, data[0][1])
        plain = through_original(run, x, _loss_function(run, made))
        if run.rank == 0:
            properties.check(run, x)
        moved = _disturbed(run, x, made)
        if run.on_any_rank(_forward_differs(run, made, plain, moved)):
            return
        if not run.on_any_rank(_gradients_differ(run, made, plain, moved)):
            _steps(run, data, made, plain)


def batches(run: SmallRun, count: int) -> list[list[torch.Tensor]]:
    """Different (input, label) pairs."""
    generator = torch.Generator().manual_seed(3)
    shapes = run.known["input"], run.known["outputs"][0]
    return [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(count)]


def _what_the_model_saw(run: SmallRun, made: Pass, batch: list[torch.Tensor]) -> torch.Tensor:
    """The input of the first stage, which the script may have prepared; all ranks must see the same."""
    given = made.given if made.given is not None else batch[0]
    first = given.clone()
    dist.broadcast(first, src=0)
    if run.on_any_rank(not torch.equal(given, first)):
        text = "the tensor-parallel ranks read different batches: each computes its part of another sample"
        run.add_to_script("data", text, "sampler-over-world")
        raise Failed
    if given.shape != batch[0].shape or torch.equal(given, batch[0]):
        return given
    off = ((given - batch[0]).abs().max() / batch[0].abs().max()).item()
    if off > 1e-2:  # another meaning, not a lost digit
        return given
    text = f"the batch loses precision on its way to the model: it is off by {off:.1g} of its largest number"
    run.add_to_script("data", text, "batch-not-float32")
    return batch[0]


def _loss_function(run: SmallRun, made: Pass) -> Callable:
    def function(output):
        run.number = run.count - 1
        with pipeline_rank(run.count - 1, run.count):
            return loss_of(run, output, made.loss_func)

    return function


def _loss_is_sound(run: SmallRun, made: Pass, label: torch.Tensor) -> None:
    """The loss depends on the result, and is a mean that nothing divides twice, or a sum that something divides."""
    if made.loss_func is None or not isinstance(made.outputs, torch.Tensor):
        return
    probe = made.output.clone().requires_grad_()
    loss = _loss_function(run, made)(probe)
    if not loss.requires_grad or torch.autograd.grad(loss, probe)[0].abs().max() == 0:
        text = "the loss does not depend on what the model returns: every gradient is zero"
        run.add_to_script("data", text, "loss-label-binding")
        raise Failed
    count = probe.numel()
    if count < 1000 or label.shape != probe.shape:
        return
    error = (made.output - label).abs().mean().item()
    if error / 10 < loss.item() * count < 10 * error:
        text = (
            f"the loss is a mean already, and num_tokens divides it once more: it is {count} times too small"
        )
        run.add_to_script("data", text, "loss-scaled-wrongly")
    elif error / 5 < loss.item() / count < 5 * error:
        text = f"the loss is a sum over {count} values that nothing divides: gradients grow with the grid"
        run.add_to_script("data", text, "loss-scaled-wrongly")


@torch.no_grad()
def _disturbed(run: SmallRun, x: torch.Tensor, made: Pass) -> Pass:
    """The original once more, every weight off by one rounding: by how much does each number move?"""
    kept = [parameter.clone() for parameter in run.original.parameters()]
    generator = torch.Generator().manual_seed(4)
    for parameter in run.original.parameters():
        parameter *= 1 + _ROUNDING * torch.randn(parameter.shape, generator=generator)
    with torch.enable_grad():
        moved = through_original(run, x, _loss_function(run, made))
    for parameter, value in zip(run.original.parameters(), kept, strict=True):
        parameter.copy_(value)
    return moved


def _forward_differs(run: SmallRun, made: Pass, plain: Pass, moved: Pass) -> bool:
    output = Reference.of(plain.output, moved.output)
    shares = (
        (run.plan.tp, run.tp_rank) if run.is_one_rank else (1, 0)
    )  # a model ends whole, a module may end split
    off = output.difference(made.output, *shares)
    run.facts["output, largest relative difference"] = output.relative(made.output, *shares)
    if off is not None and off <= 1:
        return False
    what = f"the result is off by {output.relative(made.output, *shares):.2g} of its largest number"
    if off is None:
        what = f"the result has shape {list(made.output.shape)}, the original's {list(plain.output.shape)}"
    key = _first_difference(run, made.passed.forward, plain.passed.forward, moved.passed.forward)
    odd = _sent_by_nobody(run, made, plain, moved) if key is None or key[1] == "in" else None
    if odd is not None and (key is None or not any(run.holds(n, key[0]) for n in range(odd[0] + 1))):
        text = f"{what}; stage {odd[0]} sends tensor {odd[1]}, which is nothing that the original computes"
        run.add("numbers", text, odd[0], "", "stage-passthrough-changed")
    else:
        _blame(run, key, what, is_forward=True)
    return True


def _sent_by_nobody(run: SmallRun, made: Pass, plain: Pass, moved: Pass) -> tuple[int, int] | None:
    """Stage and number of the first tensor at a boundary that no module of the original is given or gives."""
    known = [
        Reference.of(value, moved.passed.forward[key])
        for key, value in plain.passed.forward.items()
        if key in moved.passed.forward
    ]
    shares = ((run.plan.tp, run.tp_rank), (run.plan.parts, run.rank // run.plan.tp))
    for number, tensors in enumerate(made.sent):
        for index, tensor in enumerate(tensors):
            offs = (one.difference(tensor, *share) for one in known for share in shares)
            if not any(off is not None and off <= 1 for off in offs):
                return number, index
    return None


def _gradients_differ(run: SmallRun, made: Pass, plain: Pass, moved: Pass) -> bool:
    wrong = _wrong_gradients(run, plain, moved)
    input_off = None
    if plain.x is not None and made.x is not None:
        input_off = Reference.of(plain.x, moved.x).difference(made.x)
    if not wrong and (input_off is None or input_off <= 1):
        return False
    key = _first_difference(run, made.passed.backward, plain.passed.backward, moved.passed.backward)
    if not wrong:
        what = f"the gradient of the input is off by {input_off:.2g} times what rounding explains"
        _blame(run, key, what, is_forward=False)
        return True
    off, number, name = max(wrong)
    what = f"the gradient of {name} is off by {off:.2g} times what rounding explains"
    if off == float("inf"):
        what = f"{name} gets no gradient"
    if len(wrong) > 1:
        what += f", and those of {len(wrong) - 1} more parameters"
    if key is None or len(wrong) == 1:
        run.add("numbers", what, number, name.rpartition(".")[0], "differs-from-original")
    else:
        _blame(run, key, what, is_forward=False)
    return True


def _wrong_gradients(run: SmallRun, plain: Pass, moved: Pass) -> list[tuple[float, int, str]]:
    """(how far off, stage, name) of every parameter whose gradient is not the original's, or its shard."""
    found = []
    for number, stage in enumerate(run.stages):
        own = dict(stage.named_parameters())
        for name, other in run.names[number].items():
            if other not in plain.gradients:
                continue
            if own[name].grad is None:
                found.append((float("inf"), number, name))
                continue
            whole = Reference.of(plain.gradients[other], moved.gradients[other])
            cut, value = run.cuts[number][name], whole.value
            if name in run.orders:
                value = value.index_select(cut, run.orders[name])
            part = weights.shard(value, cut, own[name], run.tp_rank, run.plan.tp)
            # One rounding of the largest number of the whole, where the shard of this rank happens to be small.
            least = _ROUNDING * whole.value.abs().max().item()
            off = Reference(part, max(whole.moved, least)).difference(own[name].grad)
            if off is not None and off > 1:
                found.append((off, number, name))
    return found


def _first_difference(run: SmallRun, ours: dict, theirs: dict, moved: dict) -> Key | None:
    """The first place, in our order, that both have and that differs.

    Of a module that several stages share, each holds a part: what passes through it is not what the original passes.
    """
    for key, tensor in ours.items():
        if sum(run.holds(number, key[0]) for number in range(run.count)) > 1:
            continue
        other = _counterpart(run, key)
        if other not in theirs or other not in moved:
            continue
        reference = Reference.of(theirs[other], moved[other])
        shares = ((run.plan.tp, run.tp_rank), (run.plan.parts, run.rank // run.plan.tp))
        offs = [reference.difference(tensor, *share) for share in shares]
        off = min((off for off in offs if off is not None), default=0)
        if off > 1:
            return key
    return None


def _counterpart(run: SmallRun, key: Key) -> Key:
    path, side = key
    return matching.by_table(f"{path}.", run.plan.names).rstrip("."), side


def _blame(run: SmallRun, key: Key | None, what: str, is_forward: bool) -> None:
    """Note a difference at the module where it begins."""
    if key is None:
        text = f"{what}; no module that both models name alike shows where it begins"
        run.add("numbers", text, run.count - 1, "", "differs-from-original")
        return
    path, side = key
    number = next((n for n in range(run.count) if run.holds(n, path)), 0)
    senders = range(0)
    # A wrong input was made by the module around it; so was the wrong gradient of an output.
    if (side == "in") == is_forward:
        way = "what it hands to" if is_forward else "the gradient that it hands back to"
        text = f"{what}; the first difference is in {way} {path}"
        path = path.rpartition(".")[0]
        if is_forward and number > 0 and not path:
            text += ", unless a stage before sends that"
            senders = range(number)
    else:
        way = "its output" if is_forward else "the gradient of its input"
        text = f"{what}; the first difference is in {way}"
    run.add("numbers", text, number, path, "differs-from-original", senders)


def _steps(run: SmallRun, data: list[list[torch.Tensor]], made: Pass, plain: Pass) -> None:
    """Three steps of gradient descent of both, on two batches in turn; the first takes the gradients that are there."""
    if run.is_one_rank and (not plain.gradients or made.output.shape != plain.output.shape):
        return  # nothing to learn from, or each rank knows a part of the loss
    losses: list[float] = []
    expected: list[float] = []
    rates: dict[str, float] = {}
    for step in range(STEPS):
        is_last = step + 1 == STEPS
        if step > 0:
            batch = data[step % 2]
            made = through_stages(run, batch, data[2:], watch=False, backward=not is_last)
            x = made.given if made.given is not None else batch[0]
            plain = through_original(run, x, _loss_function(run, made), watch=False, backward=not is_last)
        losses.append(made.loss)
        expected.append(plain.loss)
        if is_last:
            break
        with torch.no_grad():
            for name, parameter in run.original.named_parameters():
                steepest = plain.gradients[name].abs().max().item() if name in plain.gradients else 0.0
                if steepest > 1e-7:  # below, it is rounding alone
                    rates.setdefault(name, _RATE * parameter.abs().max().item() / steepest)
                    parameter -= rates[name] * plain.gradients[name]
                else:
                    rates.pop(name, None)
            for number, stage in enumerate(run.stages):
                for name, parameter in stage.named_parameters():
                    rate = rates.get(run.names[number].get(name, ""))
                    if rate is not None and parameter.grad is not None:
                        parameter -= rate * parameter.grad
    run.facts["loss of three steps"], run.facts["the original's"] = losses, expected
    for step, (loss, other) in enumerate(zip(losses, expected, strict=True), start=1):
        if abs(loss - other) > _LOSS * abs(other):
            text = f"the loss of step {step} is {loss:.6g}, the original's {other:.6g}"
            run.add("numbers", text, run.count - 1, "", "differs-from-original")
            return

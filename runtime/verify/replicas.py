"""With dropout on, ranks that hold the same thing must draw alike, and ranks that hold shards must not."""

from __future__ import annotations

import hashlib

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from .differences import batches
from .passes import Pass, through_stages
from .placements import Inputs
from .results import Finding
from .smallrun import SmallRun
from .tracking import shown

Draw = tuple[str, int, str, str, tuple[int, str]]


class Draws(TorchFunctionMode):
    """Notes, for every dropout: its place, the random state that it draws from, and what it is given."""

    def __init__(self, run: SmallRun) -> None:
        super().__init__()
        self.run = run
        self.seen: list[Draw] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if _rate(func, args, kwargs):
            given = args[0] if args else next(iter(kwargs.values()))
            tracker, place = self.run.tracker, self.run.recorder.caller(2)
            path = next((n for m, _ in reversed(tracker.running) if (n := tracker.names.get(id(m)))), "")
            owner = (self.run.number or 0, path)
            self.seen.append((*place, _digest(torch.get_rng_state()), _digest(given), owner))
        return func(*args, **kwargs)


def _rate(func, args, kwargs) -> float:
    """The rate of a dropout; 0 for what is none."""
    if func is F.dropout:
        training = args[2] if len(args) > 2 else kwargs.get("training", True)
        return (args[1] if len(args) > 1 else kwargs.get("p", 0.5)) if training else 0.0
    if func is F.scaled_dot_product_attention:
        return args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
    return 0.0


def _digest(tensor: torch.Tensor) -> str:
    return hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).hexdigest()


def check(run: SmallRun) -> None:
    """Compare the tensor-parallel ranks under dropout."""
    from ..process_groups import seed_random_streams

    before = len(run.findings)
    data = batches(run, 2)
    draws = Draws(run)
    for stage in run.stages:
        stage.train()
    seed_random_streams(1234)
    inputs = Inputs(run)
    with run.mode(draws):
        made = through_stages(run, data[0], data[1:], watch=False)
    run.types = inputs.compared()
    everywhere = run.from_tp_ranks(draws.seen)
    _same_draws(run, everywhere)
    if len(run.findings) == before:
        _gradients_alike(run)
        _outputs_alike(run, made)


def _same_draws(run: SmallRun, everywhere: list[list[Draw]]) -> None:
    """Where a split value is dropped by the same draws, or a whole one by different draws."""
    for ours, theirs in zip(everywhere[0], everywhere[-1], strict=False):
        is_whole, is_common = ours[3] == theirs[3], ours[2] == theirs[2]
        if is_whole == is_common:
            continue
        path, line, *_, (number, module) = ours
        places = run.tracker.places_around(run.stages[number], module)
        place = (shown(path), line) if path else next(iter(places), ("", 0))
        text = "a value that all tensor-parallel ranks hold is dropped by draws of each rank's own: they part here"
        rule = "seed-of-wrong-axis"
        if is_common:
            text = "a split value is dropped by draws that all ranks share: the same places of each shard"
            rule = "sp-dropout-not-forked"
        cls = type(run.stages[number].get_submodule(module)).__name__
        run.findings.append(
            Finding("replicas", text, number, (run.rank,), module, cls, "", *place, rule, (), places)
        )
        return


def _gradients_alike(run: SmallRun) -> None:
    # A projection on fixed random numbers stands for the whole gradient: one message for all of them.
    generator = torch.Generator().manual_seed(5)
    seen = {}
    for number, stage in enumerate(run.stages):
        for name, parameter in stage.named_parameters():
            if run.cuts[number].get(name) is None and parameter.grad is not None:
                gradient = parameter.grad.double()
                direction = torch.randn(gradient.shape, generator=generator, dtype=torch.float64)
                seen[number, name] = ((gradient * direction).sum().item(), gradient.norm().item())
    everywhere = run.from_tp_ranks(seen)
    for (number, name), (value, norm) in everywhere[0].items():
        others = [ranks[number, name][0] for ranks in everywhere if (number, name) in ranks]
        if max(abs(other - value) for other in others) > 1e-5 * norm + 1e-12:
            text = (
                f"the gradient of {name}, which every tensor-parallel rank holds, differs: they train apart"
            )
            run.add("replicas", text, number, name.rpartition(".")[0], "replicated-parameter-unsynced")
            return


def _outputs_alike(run: SmallRun, made: Pass) -> None:
    if run.is_one_rank and made.output.shape != run.whole_output:
        return  # a module may end split
    first = made.output.clone()
    dist.broadcast(first, src=0)
    if (made.output - first).abs().max() > 1e-5 * first.abs().max():
        text = "with dropout on, the tensor-parallel ranks return different results"
        run.add("replicas", text, run.count - 1, "", "seed-of-wrong-axis")

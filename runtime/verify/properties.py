"""What must hold for the original by itself: code that both models share cannot be found wrong by comparing them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from .results import Finding
from .smallrun import SmallRun

_PLACES = 12
_SOME, _ALL = 0.05, 0.999  # a module that adds positions keeps no token alike, and says nothing here
_SAMPLES = 4  # modules of one class that are looked at: shifted and unshifted windows take turns


@dataclass
class _Call:
    """The first call of a module."""

    path: str
    module: nn.Module
    args: tuple
    kwargs: dict


def check(run: SmallRun, x: torch.Tensor) -> None:
    """A self-attention averages over tokens of the grid, the token itself among them."""
    calls: list[_Call] = []
    handles = [
        module.register_forward_pre_hook(_noting(calls, path), with_kwargs=True)
        for path, module in run.original.named_modules()
        if "ttention" in type(module).__name__ and path
    ]
    try:
        with torch.no_grad():
            run.original(x)
    finally:
        for handle in handles:
            handle.remove()
    seen: dict[type, int] = {}
    for call in sorted(calls, key=lambda call: -call.path.count(".")):  # the innermost of nested ones first
        kind = type(call.module)
        seen[kind] = seen.get(kind, 0) + 1
        fault = _fault(call) if seen[kind] <= _SAMPLES else None
        if fault is not None:
            places = run.tracker.places_around(run.original, call.path)
            place = next(iter(places), ("", 0))
            text = f"{call.path} of the original: {fault[0]}"
            owner = (None, (run.rank,), call.path, kind.__name__, "", *place, fault[1], (), places)
            run.findings.append(Finding("numbers", text, *owner))
            return


def _noting(calls: list[_Call], path: str):
    def hook(module, args, kwargs) -> None:
        if all(call.module is not module for call in calls):
            calls.append(_Call(path, module, args, kwargs))

    return hook


def _fault(call: _Call) -> tuple[str, str] | None:
    """What does not hold, and the rule that speaks of it. Calls that are not tokens in, tokens out, say nothing."""
    tensors = [arg for arg in call.args if isinstance(arg, torch.Tensor) and arg.is_floating_point()]
    if len(tensors) != 1 or tensors[0].ndim < 3:
        return None
    given = tensors[0].detach()
    if any(isinstance(v, torch.Tensor) and v.shape == given.shape for v in call.kwargs.values()):
        return None

    def run(x: torch.Tensor):
        return call.module(*(x if arg is tensors[0] else arg for arg in call.args), **call.kwargs)

    x = given.clone().requires_grad_()
    output = run(x)
    if not isinstance(output, torch.Tensor) or output.shape != x.shape:
        return None
    if _loses_itself(x, output):
        text = "tokens do not depend on themselves: they come back in other places than they went in"
        return text, "roll-unroll-mismatch"
    with torch.no_grad():
        generator = torch.Generator().manual_seed(7)
        share = _kept_constant(run(torch.randn(x.shape[-1], generator=generator).expand(x.shape)))
    if _SOME < share < _ALL:
        text = (
            f"a field that is the same everywhere stays so at {share:.0%} of the tokens: the others attend to what "
            "lies beside the grid, such as padding that is not blocked"
        )
        return text, ""
    return None


def _loses_itself(x: torch.Tensor, output: torch.Tensor) -> bool:
    """Whether a token of the output has no part of the token at the same place of the input."""
    generator = torch.Generator().manual_seed(6)
    for _ in range(_PLACES):
        place = tuple(int(torch.randint(size, (), generator=generator)) for size in x.shape[:-1])
        [gradient] = torch.autograd.grad(output[place].square().sum(), x, retain_graph=True)
        if gradient[place].abs().max() == 0 and gradient.abs().max() > 0:
            return True
    return False


def _kept_constant(output: torch.Tensor) -> float:
    """The share of tokens that are alike: an average of equal values is that value, whatever the weights."""
    tokens = output.flatten(0, -2)
    scale = tokens.abs().max()
    candidates = tokens[:: max(1, len(tokens) // 16)]
    return max(((tokens - one).abs().amax(1) < 1e-4 * scale).float().mean().item() for one in candidates)

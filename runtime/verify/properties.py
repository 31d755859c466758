"""What must hold for the original by itself: code that both models share cannot be found wrong by comparing them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from .results import Finding
from .smallrun import SmallRun

_PLACES = 12
_SAMPLES = 4  # modules of one class that are looked at: shifted and unshifted windows take turns


@dataclass
class _Call:
    """The first call of a module."""

    path: str
    module: nn.Module
    args: tuple
    kwargs: dict


def check(run: SmallRun, x: torch.Tensor) -> None:
    """Every token of a self-attention attends, among others, to itself."""
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
    for call in calls:
        kind = type(call.module)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= _SAMPLES and _loses_itself(call):
            places = run.tracker.places_around(run.original, call.path)
            text = (
                f"tokens that leave {call.path} of the original do not depend on themselves: they come back in other "
                "places than they went in"
            )
            place = next(iter(places), ("", 0))
            run.findings.append(
                Finding(
                    "numbers",
                    text,
                    None,
                    (run.rank,),
                    call.path,
                    kind.__name__,
                    "",
                    *place,
                    "roll-unroll-mismatch",
                    (),
                    places,
                )
            )
            return


def _noting(calls: list[_Call], path: str):
    def hook(module, args, kwargs) -> None:
        if all(call.module is not module for call in calls):
            calls.append(_Call(path, module, args, kwargs))

    return hook


def _loses_itself(call: _Call) -> bool:
    """Whether a token of the output has no part of the token at the same place of the input."""
    tensors = [arg for arg in call.args if isinstance(arg, torch.Tensor) and arg.is_floating_point()]
    if (
        len(tensors) != 1
        or tensors[0].ndim < 3
        or any(
            isinstance(value, torch.Tensor) and value.shape == tensors[0].shape
            for value in call.kwargs.values()
        )
    ):
        return False
    x = tensors[0].detach().clone().requires_grad_()
    args = tuple(x if arg is tensors[0] else arg for arg in call.args)
    output = call.module(*args, **call.kwargs)
    if not isinstance(output, torch.Tensor) or output.shape != x.shape:
        return False
    generator = torch.Generator().manual_seed(6)
    for _ in range(_PLACES):
        place = tuple(int(torch.randint(size, (), generator=generator)) for size in x.shape[:-1])
        [gradient] = torch.autograd.grad(output[place].square().sum(), x, retain_graph=True)
        if gradient[place].abs().max() == 0 and gradient.abs().max() > 0:
            return True
    return False

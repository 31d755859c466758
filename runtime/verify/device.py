"""Let megatron-core and the user's code run without a GPU: "cuda" means the CPU, or the meta device."""

from __future__ import annotations

import sys
from collections import Counter

import torch
from torch.overrides import TorchFunctionMode

from .. import cpu_emulation

_MOST = 100  # times that one condition is taken as true: a loop may wait for it to become false
conditions: Counter[tuple[str, int]] = Counter()
"""Places of conditions on the numbers of a meta tensor, which were taken as true."""


class _CudaMeansMeta(TorchFunctionMode):
    """Turns a CUDA device in the arguments of any torch function into the meta device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.cuda:
            return args[0].to("meta")
        kwargs = {name: _to_meta(value) for name, value in (kwargs or {}).items()}
        return func(*map(_to_meta, args), **kwargs)


def _to_meta(value):
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "meta"
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("meta")
    return value


def _take_as_true() -> None:
    """A condition on a meta tensor is noted and taken as true; not by the mode above, which backward does not enter."""
    ask = torch.Tensor.__bool__

    def answer(tensor) -> bool:
        if tensor.is_meta:
            frame = sys._getframe(1)
            place = frame.f_code.co_filename, frame.f_lineno
            conditions[place] += 1
            if conditions[place] <= _MOST:
                return True
        return ask(tensor)

    torch.Tensor.__bool__ = answer


def use_cpu() -> list[TorchFunctionMode]:
    """For this process, for good. The modes that are in force from here on."""
    cpu_emulation.install()
    _quiet_cuda()
    return [cpu_emulation._mode] if cpu_emulation._mode is not None else []


def use_meta() -> list[TorchFunctionMode]:
    """For this process, for good: what is made on "cuda" has a shape and no numbers. The modes in force."""
    modes = use_cpu()
    torch.cuda.current_device = lambda: torch.device("meta")
    modes.append(_CudaMeansMeta())
    modes[-1].__enter__()
    _take_as_true()
    return modes


def _quiet_cuda() -> None:
    """Calls that only a GPU could serve and that change nothing here."""

    def nothing(*args, **kwargs) -> None:
        return None

    for name in ("set_device", "manual_seed_all", "empty_cache", "reset_peak_memory_stats"):
        setattr(torch.cuda, name, nothing)
    torch.cuda.memory_allocated = lambda *args, **kwargs: 0
    torch.cuda.max_memory_allocated = lambda *args, **kwargs: 0

"""Let megatron-core and the user's code run without a GPU: "cuda" means the CPU, or the meta device."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from .. import cpu_emulation

_UNDECIDED = (
    "cannot be called on meta tensors",
    "Cannot copy out of meta tensor",
    "on a meta tensor",
    "aten::_local_scalar_dense",
    "with arguments from the 'Meta' backend",
    "not been registered to Meta",
)
_NAMES = (str, torch.device)
_MOST = 100  # times that one condition is taken as true: a loop may wait for it to become false
_attention = F.scaled_dot_product_attention
conditions: Counter[tuple[str, int]] = Counter()
"""Places of conditions on the numbers of a meta tensor, which were taken as true."""


class _CudaMeansMeta(TorchFunctionMode):
    """Turns a CUDA device in the arguments of any torch function into the meta device; `watch` sees every call."""

    watch: Callable[[object, tuple, dict], None] | None = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.cuda:
            return args[0].to("meta")
        if self.watch is not None:
            self.watch(func, args, kwargs or {})
        if func is _attention:
            return _attend(*args, **(kwargs or {}))
        kwargs = {name: _to_meta(value) for name, value in (kwargs or {}).items()}
        return func(*map(_to_meta, args), **kwargs)


def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """As a GPU computes it, where the scores are not kept; other forms as torch decides."""
    tensors = (query, key, value)
    if (
        enable_gqa
        or any(t.ndim != 4 or not t.is_meta for t in tensors)
        or len({t.dtype for t in tensors}) > 1
    ):
        options = {"scale": scale, "enable_gqa": enable_gqa}
        return _attention(query, key, value, attn_mask, dropout_p, is_causal, **options)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = attn_mask.new_empty(attn_mask.shape, dtype=query.dtype)
        attn_mask = attn_mask.expand(*query.shape[:3], key.shape[2])
    fused = torch.ops.aten._scaled_dot_product_efficient_attention
    return fused(query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale)[0]


def _to_meta(value):
    if isinstance(value, _NAMES) and str(value).partition(":")[0] == "cuda":
        return "meta" if isinstance(value, str) else torch.device("meta")
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


def undecided(error: BaseException) -> bool:
    """Whether an error says only that a meta tensor has no numbers."""
    return any(words in str(error) for words in _UNDECIDED)


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


def cast_at_the_ends(stage: nn.Module, dtype: torch.dtype, is_first: bool, is_last: bool) -> None:
    """As Megatron wraps a model of 16 bits: the batch comes in float32, and so does the result leave."""

    def cast(value, wanted: torch.dtype):
        if isinstance(value, tuple | list):
            return type(value)(cast(item, wanted) for item in value)
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(wanted) if is_float else value

    if is_first:
        stage.register_forward_pre_hook(lambda module, args: cast(args, dtype))
    if is_last:
        stage.register_forward_hook(lambda module, args, output: cast(output, torch.float32))

"""What a stage costs: operations, and the bytes that are alive at each time of a dry run."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import sdpa_flop_count

from .flops import FlopCounter

if TYPE_CHECKING:
    from .results import StageFigures

# Bytes for each parameter: itself, its gradient and Adam's two moments in float32; in 16 bits also a master copy.
STATE_BYTES, STATE_BYTES_16 = 4 + 4 + 8, 2 + 4 + 4 + 8


class Live(TorchDispatchMode):
    """Counts the bytes of all tensors that are made inside and still alive.

    Attributes:
        now: bytes alive.
        peak: the most at one time.
    """

    def __init__(self, before: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known = {tensor.untyped_storage()._cdata for tensor in before}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                self.add(tensor)
        return made

    def add(self, tensor: torch.Tensor) -> None:
        """Count a tensor, unless its memory is counted already or was there before."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return
        self._known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


class Kept:
    """Counts the bytes that autograd keeps for backward, those of the given parameters left out."""

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        self._owned = {p.untyped_storage()._cdata for p in parameters}
        self._sizes: dict[int, int] = {}

    def watching(self) -> torch.autograd.graph.saved_tensors_hooks:
        """A context in which tensors are seen."""
        return torch.autograd.graph.saved_tensors_hooks(self._see, lambda tensor: tensor)

    @property
    def bytes(self) -> int:
        """So far."""
        return sum(self._sizes.values())

    def _see(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._owned:
            self._sizes[storage._cdata] = storage.nbytes()
        return tensor


def counter() -> FlopCounter:
    """A counter of operations, for which what a kernel computes twice to save memory counts once."""
    attention = torch.ops.aten._scaled_dot_product_efficient_attention_backward

    def backward(grad_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs) -> int:
        return 2 * sdpa_flop_count(query_shape, key_shape, value_shape)

    return FlopCounter({attention: backward})


def rank_bytes(stages: list[StageFigures], under_way: int, is_16_bit: bool) -> tuple[int, int]:
    """Bytes of a rank that holds these stages, and of them those of parameters, gradients and optimizer.

    Args:
        stages: figures of its stages, in order.
        under_way: micro-batches that have gone forward and not back, at most.
        is_16_bit: whether it computes in 16 bits, with master copies in float32.
    """
    state = sum(stage.parameters for stage in stages) * (STATE_BYTES_16 if is_16_bit else STATE_BYTES)
    kept = stages[0].received + sum(stage.kept for stage in stages)
    before, highest = stages[0].received, 0
    for stage in stages:
        highest = max(highest, before + stage.peak)
        before += stage.kept
    return state + (under_way - 1) * kept + highest, state


def all_of(modes) -> contextlib.ExitStack:
    """All of them entered, as one context."""
    stack = contextlib.ExitStack()
    for mode in modes:
        stack.enter_context(mode)
    return stack

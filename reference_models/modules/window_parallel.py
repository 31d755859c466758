"""Window parallelism: each rank holds some pressure levels of the grid, and all the weights.

Tensor parallelism splits channels, so every layer needs a sum over ranks. Window attention mixes tokens inside a
window only; ranks that hold whole windows meet just where a shifted block moves the windows, and there exchange the
levels at the edge. Pressure is the axis to cut: patches, windows and both samplings keep its levels apart, every rank
gets equally many, and Pangu's bias table has rows of its own for each.

The ranks are those of Megatron's context-parallel group: a sequence in parts, weights replicated.

Sources: SWiPe (AERIS, 2025) and Megatron's context parallelism, which split windows or a sequence over ranks.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel; L = P * Y * X tokens of one rank
"""

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from torch.distributed.distributed_c10d import _resolve_process_group

from .attention.windows import WindowGrid


def own_levels(levels: int) -> range:
    """The levels of this rank, of ``levels`` in all.

    Raises:
        ValueError: they cannot be shared evenly.
    """
    size = parallel_state.get_context_parallel_world_size()
    if levels % size:
        raise ValueError(f"{levels} levels cannot be shared evenly by --window-parallel-size {size}")
    share = levels // size
    first = parallel_state.get_context_parallel_rank() * share
    return range(first, first + share)


def shares_of_levels(levels: int) -> list[range]:
    """The levels of each rank."""
    share = len(own_levels(levels))
    return [range(first, first + share) for first in range(0, levels, share)]


def own_part(resolution: tuple[int, int, int]) -> tuple[int, int, int]:
    """Resolution (P, Y, X) of what this rank holds of a grid."""
    return (len(own_levels(resolution[0])), *resolution[1:])


def own_windows(grid: WindowGrid) -> tuple[WindowGrid, slice]:
    """The windows of this rank as a grid of its own, and which of the grid's window types they are.

    Along pressure the grid of a rank is not shifted: `shift_tokens` does that in front of it.

    Raises:
        ValueError: the windows along pressure cannot be shared evenly, or they need padding.
    """
    size = parallel_state.get_context_parallel_world_size()
    if size == 1:
        return grid, slice(None)
    if grid.padded[0] != grid.resolution[0] or grid.counts[0] % size:
        raise ValueError(
            f"{grid.resolution[0]} levels in windows of {grid.window[0]} cannot be shared evenly by "
            f"--window-parallel-size {size}"
        )
    own = WindowGrid(own_part(grid.resolution), grid.window, (0, *grid.shift[1:]))
    first = parallel_state.get_context_parallel_rank() * own.window_types
    return own, slice(first, first + own.window_types)


def shift_tokens(x: torch.Tensor, tokens: int) -> torch.Tensor:
    """The next ``tokens`` of the circle of all ranks' tokens in place of the first: a roll by -``tokens``.

    x: (B, L, C), the levels of this rank. Negative ``tokens`` roll the other way, and so undo it. At most L.
    """
    if tokens == 0:
        return x
    return _shift(x, tokens, parallel_state.get_context_parallel_group().group_name)


def gather_fields(x: torch.Tensor, channels: list[int]) -> list[torch.Tensor]:
    """What every rank gave, on every rank, in the order of ranks; the gradient returns to its own rank.

    For the end of a model whose loss all ranks compute alike: gradients of x are not summed over ranks.

    x: (B, channels of this rank, Y, X); channels: of each rank.
    """
    return list(_GatherFields.apply(x, channels)) if len(channels) > 1 else [x]


@torch.library.custom_op("onescience_check::shift_tokens", mutates_args=())
def _shift(x: torch.Tensor, tokens: int, group_name: str) -> torch.Tensor:
    group = _resolve_process_group(group_name)
    count, step = abs(tokens), 1 if tokens > 0 else -1
    sent = x[:, :count] if tokens > 0 else x[:, -count:]
    kept = x[:, count:] if tokens > 0 else x[:, :-count]
    wire = (
        "cpu" if x.is_cuda and dist.get_backend(group) == "gloo" else x.device
    )  # gloo sends no CUDA tensors
    sent = sent.to(wire).contiguous()
    received = torch.empty_like(sent)
    target, source = (
        dist.get_global_rank(group, (group.rank() + offset) % group.size()) for offset in (-step, step)
    )
    requests = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, sent, target, group), dist.P2POp(dist.irecv, received, source, group)]
    )
    out = torch.empty_like(x)  # filled while the message travels
    (out[:, :-count] if tokens > 0 else out[:, count:]).copy_(kept)
    for request in requests:
        request.wait()
    (out[:, -count:] if tokens > 0 else out[:, :count]).copy_(received)
    return out


@_shift.register_fake
def _(x, tokens, group_name):
    return torch.empty_like(x)


def _setup_context(ctx, inputs, output):
    _, ctx.tokens, ctx.group_name = inputs


def _backward(ctx, upstream):
    return _shift(upstream.contiguous(), -ctx.tokens, ctx.group_name), None, None


_shift.register_autograd(_backward, setup_context=_setup_context)


class _GatherFields(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, channels):
        group = parallel_state.get_context_parallel_group()
        ctx.rank = group.rank()
        message = x.new_zeros((x.shape[0], max(channels), *x.shape[2:]))  # ranks may differ by a few channels
        message[:, : x.shape[1]] = x
        parts = [torch.empty_like(message) for _ in channels]
        dist.all_gather(parts, message, group=group)
        return tuple(part[:, :count] for part, count in zip(parts, channels, strict=True))

    @staticmethod
    def backward(ctx, *upstream):
        return upstream[ctx.rank], None

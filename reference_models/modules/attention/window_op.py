"""Window attention as one differentiable operator of torch, opaque to torch.compile, around window_kernels.py.

# B batch, L = P * Y * X tokens of the grid, T window types, H heads, D channels of a head
# N tokens in a window, S = B * nX windows of one type
"""

import torch
import triton

from ..padding import split_padding
from .window_kernels import LOG2_E, forward_kernel, key_gradient_kernel, query_gradient_kernel
from .windows import WindowGrid

# Tile of tokens, warps and software-pipeline stages of each kernel: the fastest that benchmarks/gpu/tune.py found on
# an H200.
LAUNCH = {"forward": (64, 4, 3), "query": (16, 2, 3), "key": (64, 4, 3)}


def _launch(kernel, name: str, tensors, bias: torch.Tensor, grid: WindowGrid) -> None:
    tile, warps, stages = LAUNCH[name]
    qkv = tensors[0]
    heads = bias.shape[1] // grid.window_types
    dim = qkv.shape[2] // (3 * heads)
    tokens = grid.window_tokens
    main = max(16, 1 << ((tokens // 2).bit_length() - 1))
    whole, left = divmod(tokens, tile)
    # What whole tiles leave gets a smaller one: the last 16 of 144 tokens would fill a quarter of a tile of 64.
    for first, size, count in ((0, tile, whole), (whole * tile, _power_of_2(left), int(left > 0))):
        if count == 0:
            continue
        kernel[(heads, count, grid.window_types)](
            *tensors,
            qkv.shape[0] * grid.counts[2],
            grid.counts[2],
            grid.counts[1],
            *grid.resolution,
            *(split_padding(grid.resolution[axis], grid.padded[axis])[0] for axis in (0, 1)),
            *grid.padded[:2],
            *grid.shift,
            dim**-0.5 * LOG2_E.value,
            *grid.window,
            D=dim,
            TILE=size,
            MAIN=main,
            REST=_power_of_2(tokens - 2 * main),
            FIRST=first,
            num_warps=warps,
            num_stages=stages,
        )


def _power_of_2(tokens: int) -> int:
    """The smallest block that holds them; Triton's products take no fewer than 16."""
    return max(16, triton.next_power_of_2(tokens))


def supports(qkv: torch.Tensor, bias: torch.Tensor, grid: WindowGrid) -> bool:
    """Whether the kernels can take this: bf16 or fp16 on a GPU, and a window and head of usual size."""
    dim = qkv.shape[2] * grid.window_types // (3 * bias.shape[1])
    return (
        qkv.is_cuda
        and qkv.dtype in (torch.bfloat16, torch.float16)
        and dim in (16, 32, 64, 128)
        and grid.window_tokens <= 256
        and grid.padded[2] == grid.resolution[2]
    )


@torch.library.custom_op("onescience_check::window_attention", mutates_args=())
def fused(qkv: torch.Tensor, bias: torch.Tensor, geometry: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """qkv: (B, L, 3 * H * D); bias: (1, T * H, N, N) with -inf where blocked; geometry: the 9 numbers of a
    WindowGrid. Returns the mixed values (B, L, H * D) and log2 of the softmax sums (S, T * H, N) in float32.
    """
    grid = _grid(geometry)
    out, lse = _fake(qkv, bias, geometry)
    _launch(forward_kernel, "forward", (qkv, bias, out, lse), bias, grid)
    return out, lse


@fused.register_fake
def _fake(qkv, bias, geometry):
    windows = qkv.shape[0] * _grid(geometry).counts[2]
    out = qkv.new_empty((*qkv.shape[:2], qkv.shape[2] // 3))
    return out, qkv.new_empty((windows, *bias.shape[1:3]), dtype=torch.float32)


@torch.library.custom_op("onescience_check::window_attention_backward", mutates_args=())
def _fused_backward(
    grad_out: torch.Tensor,
    qkv: torch.Tensor,
    bias: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    geometry: list[int],
) -> tuple[torch.Tensor, torch.Tensor]:
    grid = _grid(geometry)
    delta, grad_qkv, grad_bias = torch.empty_like(lse), torch.empty_like(qkv), torch.empty_like(bias)
    tensors = (qkv, bias, out, grad_out, lse, delta, grad_qkv, grad_bias)
    _launch(query_gradient_kernel, "query", tensors, bias, grid)
    _launch(key_gradient_kernel, "key", (qkv, bias, grad_out, lse, delta, grad_qkv), bias, grid)
    return grad_qkv, grad_bias


@_fused_backward.register_fake
def _(grad_out, qkv, bias, out, lse, geometry):
    return torch.empty_like(qkv), torch.empty_like(bias)


def _grid(geometry: list[int]) -> WindowGrid:
    return WindowGrid(tuple(geometry[:3]), tuple(geometry[3:6]), tuple(geometry[6:]))


def _setup_context(ctx, inputs, output):
    *tensors, ctx.geometry = inputs
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx, grad_out, _):
    return *_fused_backward(grad_out.contiguous(), *ctx.saved_tensors, ctx.geometry), None


fused.register_autograd(_backward, setup_context=_setup_context)

"""Run by test_triton_kernels in Triton's interpreter: every kernel against the same thing in torch, float64.

Prints the largest error of each result over the largest value of that result.
"""

import torch
from torch.nn import functional as F

from onescience_check.reference_models.modules.attention import window_attention, window_op
from onescience_check.reference_models.modules.attention.windows import WindowGrid
from onescience_check.reference_models.modules.mlp import bias_gelu_op

# Grid, window, shift
GRIDS = {
    "whole": ((2, 6, 24), (2, 6, 12), (0, 0, 0)),
    "padded and shifted": ((4, 7, 24), (2, 6, 12), (1, 3, 6)),
    "small window": ((2, 4, 8), (1, 4, 4), (0, 2, 2)),
}
HEADS, CHANNELS = 2, 16


def report(name: str, ours: torch.Tensor, right: torch.Tensor) -> None:
    error = (ours.double() - right).abs().max() / right.abs().max()
    print(f"{name}\t{error.item():.3e}", flush=True)


def attention(name: str, grid: WindowGrid) -> None:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.Size(grid.resolution).numel()
    pairs = (1, grid.window_types * HEADS, grid.window_tokens, grid.window_tokens)
    qkv = torch.randn(2, tokens, 3 * HEADS * CHANNELS, generator=generator)
    bias = torch.randn(pairs, generator=generator)
    upstream = torch.randn(2, tokens, HEADS * CHANNELS, generator=generator)
    if (blocked := grid.blocked_pairs()) is not None:
        bias = bias.masked_fill(blocked.repeat_interleave(HEADS, 0)[None], float("-inf"))
    ours, right = (
        [t.to(dtype, copy=True).requires_grad_() for t in (qkv, bias)]
        for dtype in (torch.float32, torch.float64)
    )
    out, _ = window_op.fused(*ours, [*grid.resolution, *grid.window, *grid.shift])
    out.backward(upstream)
    expected = window_attention.window_attention(*right, grid, dropout=0.0)
    expected.backward(upstream.double())
    report(f"attention, {name}: output", out.detach(), expected.detach())
    report(f"attention, {name}: gradient of qkv", ours[0].grad, right[0].grad)
    report(f"attention, {name}: gradient of the bias", ours[1].grad, right[1].grad)


def bias_gelu(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    x, upstream = (3 * torch.randn(shape, generator=generator) for _ in range(2))
    bias = torch.randn(shape[-1], generator=generator)
    ours, right = (
        [t.to(dtype, copy=True).requires_grad_() for t in (x, bias)]
        for dtype in (torch.float32, torch.float64)
    )
    out = bias_gelu_op.fused(*ours)
    out.backward(upstream)
    expected = F.gelu(right[0] + right[1])
    expected.backward(upstream.double())
    report(f"GELU {shape}: output", out.detach(), expected.detach())
    report(f"GELU {shape}: gradient of x", ours[0].grad, right[0].grad)
    report(f"GELU {shape}: gradient of the bias", ours[1].grad, right[1].grad)


if __name__ == "__main__":
    for name, parts in GRIDS.items():
        attention(name, WindowGrid(*parts))
    for shape in ((1, 70, 200), (5, 64), (9000, 130)):  # the last: spans of more than one tile
        bias_gelu(shape)

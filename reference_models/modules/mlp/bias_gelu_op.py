"""Bias and GELU as one differentiable operator of torch, opaque to torch.compile, in Triton.

The GELU of torch is bound by the arithmetic of its error function, not by memory; here it is an exponential and
a short polynomial. In backward the gradient of the bias is summed while the gradient of the activation is
written, in a fixed order: no atomics, the same result in every run.

# N tokens, C channels, S spans of tokens whose sums are added up last
"""

import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)  # exp2 is what the hardware has
SQRT_HALF = tl.constexpr(0.7071067811865476)
DENSITY_AT_0 = tl.constexpr(0.3989422804014327)  # of the normal distribution, 1 / sqrt(2 pi)
# Spans, and tokens and channels of a tile and warps: the fastest of those tried on an H200
SPANS = 512
FORWARD_TILE, BACKWARD_TILE = (32, 128, 8), (16, 128, 4)


@triton.jit
def _normal(x):
    """Share of the normal distribution below x, to 1e-7, and exp(-x^2 / 2).

    Source: Abramowitz and Stegun 1964, 7.1.26, erf(z) from one exponential, which the density needs too.
    """
    bell = tl.exp2(x * x * (-0.5 * LOG2_E))
    t = 1.0 / (1.0 + (0.3275911 * SQRT_HALF) * tl.abs(x))
    fit = 0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    tail = 0.5 * bell * t * fit
    return tl.where(x < 0, tail, 1.0 - tail), bell


@triton.jit
def forward_kernel(x, bias, out, tokens, channels, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row < tokens)[:, None] & (column < channels)[None, :]
    place = row.to(tl.int64)[:, None] * channels + column[None, :]
    shift = tl.load(bias + column, column < channels, 0.0).to(tl.float32)
    value = tl.load(x + place, inside, 0.0).to(tl.float32) + shift[None, :]
    share, _ = _normal(value)
    tl.store(out + place, (value * share).to(out.dtype.element_ty), inside)


@triton.jit
def backward_kernel(
    upstream, x, bias, grad_x, sums, tokens, channels, span, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Gradient of x, and for each span of tokens its sum."""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    shift = tl.load(bias + column, column < channels, 0.0).to(tl.float32)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    first = tl.program_id(0) * span
    for start in range(first, tl.minimum(first + span, tokens), ROWS):
        row = start + tl.arange(0, ROWS)
        inside = ((row < first + span) & (row < tokens))[:, None] & (column < channels)[None, :]
        place = row.to(tl.int64)[:, None] * channels + column[None, :]
        value = tl.load(x + place, inside, 0.0).to(tl.float32) + shift[None, :]
        grad = tl.load(upstream + place, inside, 0.0).to(tl.float32)
        share, bell = _normal(value)
        grad = grad * (share + value * (DENSITY_AT_0 * bell))
        total += grad
        tl.store(grad_x + place, grad.to(grad_x.dtype.element_ty), inside)
    tl.store(sums + tl.program_id(0) * channels + column, tl.sum(total, 0), column < channels)


@torch.library.custom_op("onescience_check::bias_gelu", mutates_args=())
def fused(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU(x + bias). x: (..., C) and bias: (C,), both without gaps."""
    out = torch.empty_like(x)
    channels = x.shape[-1]
    tokens = x.numel() // channels
    rows, columns, warps = FORWARD_TILE
    grid = (triton.cdiv(tokens, rows), triton.cdiv(channels, columns))
    forward_kernel[grid](x, bias, out, tokens, channels, ROWS=rows, COLUMNS=columns, num_warps=warps)
    return out


@fused.register_fake
def _(x, bias):
    return torch.empty_like(x)


@torch.library.custom_op("onescience_check::bias_gelu_backward", mutates_args=())
def _fused_backward(
    upstream: torch.Tensor, x: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    grad_x, channels = torch.empty_like(x), x.shape[-1]
    tokens = x.numel() // channels
    rows, columns, warps = BACKWARD_TILE
    span = triton.cdiv(triton.cdiv(tokens, SPANS), rows) * rows
    spans = triton.cdiv(tokens, span)
    sums = torch.empty(spans, channels, device=x.device, dtype=torch.float32)
    grid = (spans, triton.cdiv(channels, columns))
    backward_kernel[grid](
        upstream, x, bias, grad_x, sums, tokens, channels, span, ROWS=rows, COLUMNS=columns, num_warps=warps
    )
    return grad_x, sums.sum(0).to(bias.dtype)


@_fused_backward.register_fake
def _(upstream, x, bias):
    return torch.empty_like(x), torch.empty_like(bias)


def _setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, upstream):
    return _fused_backward(upstream.contiguous(), *ctx.saved_tensors)


fused.register_autograd(_backward, setup_context=_setup_context)

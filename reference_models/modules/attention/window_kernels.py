"""Triton kernels of window attention: windows, shift and padding are address arithmetic, nothing is copied.

# B batch, L = P * Y * X tokens of the grid (pressure level, latitude, longitude), T window types, H heads
# D channels of a head, N tokens in a window, S = B * nX windows of one type

A program owns one head, one window type and a tile of tokens, and walks along the circle of latitude over the
S windows of that type. They share their position bias, so it stays in registers, and its gradient is summed
there too: no (S, ..., N, N) tensor is ever written. N = 144 is no power of two, as Triton's blocks must be;
the other side of the scores is therefore held in two blocks, 128 + 16.

Backward recomputes the scores twice, once by query tile (dq and the bias) and once by key tile (dk, dv),
so that every sum stays inside one program: no atomics, the same result in every run.
Source of the backward formulas: Dao et al. 2022 (FlashAttention), appendix B.
"""

import torch
import triton
import triton.language as tl

from ..padding import split_padding
from .windows import WindowGrid

LOG2_E = 1.4426950408889634  # exp2 is what the hardware has


@triton.jit
def _rows(token, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX):
    """First cell of the grid row of each token in a window, and whether it is a cell (padding is not)."""
    level = (window_type // n_y * WP + token // (WY * WX) + shift_p) % size_p - pad_p
    latitude = (window_type % n_y * WY + token // WX % WY + shift_y) % size_y - pad_y
    inside = (token < WP * WY * WX) & (level >= 0) & (level < p) & (latitude >= 0) & (latitude < y)
    return (level * y + latitude) * x, inside


@triton.jit
def _cells(row, token, window, n_x, cells, x, shift_x, WX):
    """Cell of each token in the ``window``-th window of its type, counted over the batch."""
    longitude = (window % n_x * WX + token % WX + shift_x) % x
    return (window // n_x * cells + row + longitude).to(tl.int64)


@triton.jit
def _load(base, cell, inside, channels, D: tl.constexpr):
    """(tokens, D) of one head; zeros for padding."""
    return tl.load(base + cell[:, None] * channels + tl.arange(0, D)[None, :], inside[:, None], 0.0)


@triton.jit
def _load_bias(bias, query, key, N: tl.constexpr):
    """Bias of each pair in units of log 2; -inf for keys past the window."""
    pair = (query < N) & (key < N)
    value = tl.load(bias + query * N + key, pair, 0.0).to(tl.float32) * 1.4426950408889634
    return tl.where(key < N, value, float("-inf"))


@triton.jit
def forward_kernel(
    q, k, v, bias, out, lse, windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
):  # fmt: skip
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    query = tl.program_id(1) * TILE + tl.arange(0, TILE)
    key0 = tl.arange(0, MAIN)
    key1 = MAIN + tl.arange(0, REST)
    row, inside = _rows(query, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row0, inside0 = _rows(key0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row1, inside1 = _rows(key1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    bias += (window_type * heads + head) * N * N
    bias0 = _load_bias(bias, query[:, None], key0[None, :], N)
    bias1 = _load_bias(bias, query[:, None], key1[None, :], N)
    q += head * D
    k += head * D
    v += head * D
    out += head * D
    for window in range(windows):
        cell = _cells(row, query, window, n_x, cells, x, shift_x, WX)
        cell0 = _cells(row0, key0, window, n_x, cells, x, shift_x, WX)
        cell1 = _cells(row1, key1, window, n_x, cells, x, shift_x, WX)
        queries = _load(q, cell, inside, channels, D)
        score0 = tl.dot(queries, tl.trans(_load(k, cell0, inside0, channels, D))) * scale + bias0
        score1 = tl.dot(queries, tl.trans(_load(k, cell1, inside1, channels, D))) * scale + bias1
        top = tl.maximum(tl.max(score0, 1), tl.max(score1, 1))
        weight0 = tl.exp2(score0 - top[:, None])
        weight1 = tl.exp2(score1 - top[:, None])
        total = tl.sum(weight0, 1) + tl.sum(weight1, 1)
        mixed = tl.dot(weight0.to(q.dtype.element_ty), _load(v, cell0, inside0, channels, D))
        mixed = tl.dot(weight1.to(q.dtype.element_ty), _load(v, cell1, inside1, channels, D), mixed)
        mixed = mixed / total[:, None]
        target = out + cell[:, None] * channels + tl.arange(0, D)[None, :]
        tl.store(target, mixed.to(q.dtype.element_ty), inside[:, None])
        place = ((window * types + window_type) * heads + head) * N + query
        tl.store(lse + place, top + tl.log2(total), query < N)


@triton.jit
def query_gradient_kernel(
    q, k, v, bias, out, grad_out, lse, delta, grad_q, grad_bias,
    windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
):  # fmt: skip
    """Gradients of q and of the bias; leaves sum(out * grad_out) per query in ``delta``."""
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    query = tl.program_id(1) * TILE + tl.arange(0, TILE)
    key0 = tl.arange(0, MAIN)
    key1 = MAIN + tl.arange(0, REST)
    row, inside = _rows(query, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row0, inside0 = _rows(key0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row1, inside1 = _rows(key1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    bias += (window_type * heads + head) * N * N
    grad_bias += (window_type * heads + head) * N * N
    sum0 = tl.zeros((TILE, MAIN), tl.float32)
    sum1 = tl.zeros((TILE, REST), tl.float32)
    first = head * D
    for window in range(windows):
        cell = _cells(row, query, window, n_x, cells, x, shift_x, WX)
        cell0 = _cells(row0, key0, window, n_x, cells, x, shift_x, WX)
        cell1 = _cells(row1, key1, window, n_x, cells, x, shift_x, WX)
        queries = _load(q + first, cell, inside, channels, D)
        upstream = _load(grad_out + first, cell, inside, channels, D)
        result = _load(out + first, cell, inside, channels, D)
        place = ((window * types + window_type) * heads + head) * N + query
        dot = tl.sum(upstream.to(tl.float32) * result.to(tl.float32), 1)
        tl.store(delta + place, dot, query < N)
        norm = tl.load(lse + place, query < N, float("inf"))  # rows past the window get weight 0

        keys = _load(k + first, cell0, inside0, channels, D)
        score = tl.dot(queries, tl.trans(keys)) * scale + _load_bias(bias, query[:, None], key0[None, :], N)
        grad = tl.dot(upstream, tl.trans(_load(v + first, cell0, inside0, channels, D)))
        grad = tl.exp2(score - norm[:, None]) * (grad - dot[:, None])
        sum0 += grad
        grad_queries = tl.dot(grad.to(q.dtype.element_ty), keys)

        keys = _load(k + first, cell1, inside1, channels, D)
        score = tl.dot(queries, tl.trans(keys)) * scale + _load_bias(bias, query[:, None], key1[None, :], N)
        grad = tl.dot(upstream, tl.trans(_load(v + first, cell1, inside1, channels, D)))
        grad = tl.exp2(score - norm[:, None]) * (grad - dot[:, None])
        sum1 += grad
        grad_queries = tl.dot(grad.to(q.dtype.element_ty), keys, grad_queries)

        target = grad_q + first + cell[:, None] * channels + tl.arange(0, D)[None, :]
        tl.store(target, (grad_queries * (scale / 1.4426950408889634)).to(q.dtype.element_ty), inside[:, None])
    pair = query[:, None] * N
    tl.store(grad_bias + pair + key0[None, :], sum0, (query[:, None] < N) & (key0[None, :] < N))
    tl.store(grad_bias + pair + key1[None, :], sum1, (query[:, None] < N) & (key1[None, :] < N))


@triton.jit
def key_gradient_kernel(
    q, k, v, bias, grad_out, lse, delta, grad_k, grad_v,
    windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
):  # fmt: skip
    """Gradients of k and v. The scores are held transposed: (keys of the tile, all queries)."""
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    key = tl.program_id(1) * TILE + tl.arange(0, TILE)
    query0 = tl.arange(0, MAIN)
    query1 = MAIN + tl.arange(0, REST)
    row, inside = _rows(key, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row0, inside0 = _rows(query0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    row1, inside1 = _rows(query1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX)
    bias += (window_type * heads + head) * N * N
    bias0 = _load_bias(bias, query0[None, :], key[:, None], N)
    bias1 = _load_bias(bias, query1[None, :], key[:, None], N)
    first = head * D
    for window in range(windows):
        cell = _cells(row, key, window, n_x, cells, x, shift_x, WX)
        cell0 = _cells(row0, query0, window, n_x, cells, x, shift_x, WX)
        cell1 = _cells(row1, query1, window, n_x, cells, x, shift_x, WX)
        keys = _load(k + first, cell, inside, channels, D)
        values = _load(v + first, cell, inside, channels, D)
        place = ((window * types + window_type) * heads + head) * N

        queries = _load(q + first, cell0, inside0, channels, D)
        upstream = _load(grad_out + first, cell0, inside0, channels, D)
        norm = tl.load(lse + place + query0, query0 < N, float("inf"))
        dot = tl.load(delta + place + query0, query0 < N, 0.0)
        weight = tl.exp2(tl.dot(keys, tl.trans(queries)) * scale + bias0 - norm[None, :])
        grad_values = tl.dot(weight.to(q.dtype.element_ty), upstream)
        grad = weight * (tl.dot(values, tl.trans(upstream)) - dot[None, :])
        grad_keys = tl.dot(grad.to(q.dtype.element_ty), queries)

        queries = _load(q + first, cell1, inside1, channels, D)
        upstream = _load(grad_out + first, cell1, inside1, channels, D)
        norm = tl.load(lse + place + query1, query1 < N, float("inf"))
        dot = tl.load(delta + place + query1, query1 < N, 0.0)
        weight = tl.exp2(tl.dot(keys, tl.trans(queries)) * scale + bias1 - norm[None, :])
        grad_values = tl.dot(weight.to(q.dtype.element_ty), upstream, grad_values)
        grad = weight * (tl.dot(values, tl.trans(upstream)) - dot[None, :])
        grad_keys = tl.dot(grad.to(q.dtype.element_ty), queries, grad_keys)

        target = cell[:, None] * channels + first + tl.arange(0, D)[None, :]
        tl.store(grad_k + target, (grad_keys * (scale / 1.4426950408889634)).to(q.dtype.element_ty), inside[:, None])
        tl.store(grad_v + target, grad_values.to(q.dtype.element_ty), inside[:, None])


# Tile of tokens, warps and software-pipeline stages of each kernel: the fastest of those that were timed on an H200.
LAUNCH = {"forward": (64, 4, 2), "query": (64, 8, 2), "key": (64, 8, 2)}


def _launch(kernel, name: str, tensors, q: torch.Tensor, bias: torch.Tensor, grid: WindowGrid) -> None:
    tile, warps, stages = LAUNCH[name]
    heads = bias.shape[1] // grid.window_types
    dim = q.shape[2] // heads
    main = 1 << ((grid.window_tokens - 1).bit_length() - 1)
    kernel[(heads, triton.cdiv(grid.window_tokens, tile), grid.window_types)](
        *tensors,
        q.shape[0] * grid.counts[2],
        grid.counts[2],
        grid.counts[1],
        *grid.resolution,
        *(split_padding(grid.resolution[axis], grid.padded[axis])[0] for axis in (0, 1)),
        *grid.padded[:2],
        *grid.shift,
        dim**-0.5 * LOG2_E,
        *grid.window,
        D=dim,
        TILE=tile,
        MAIN=main,
        REST=max(16, triton.next_power_of_2(grid.window_tokens - main)),
        num_warps=warps,
        num_stages=stages,
    )


def supports(q: torch.Tensor, bias: torch.Tensor, grid: WindowGrid) -> bool:
    """Whether the kernels can take this: bf16 or fp16 on a GPU, and a window and head of usual size."""
    dim = q.shape[2] * grid.window_types // bias.shape[1]
    return (
        q.is_cuda
        and q.dtype in (torch.bfloat16, torch.float16)
        and dim in (16, 32, 64, 128)
        and 16 < grid.window_tokens <= 256
        and grid.padded[2] == grid.resolution[2]
    )


@torch.library.custom_op("onescience_check::window_attention", mutates_args=())
def fused(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, geometry: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """q, k, v: (B, L, H * D); bias: (1, T * H, N, N) with -inf where blocked; geometry: the 9 numbers of a
    WindowGrid. Returns the mixed values (B, L, H * D) and log2 of the softmax sums (S, T * H, N) in float32.
    """
    grid = _grid(geometry)
    out = torch.empty_like(q)
    lse = q.new_empty((q.shape[0] * grid.counts[2], *bias.shape[1:3]), dtype=torch.float32)
    _launch(forward_kernel, "forward", (q, k, v, bias, out, lse), q, bias, grid)
    return out, lse


@fused.register_fake
def _(q, k, v, bias, geometry):
    windows = q.shape[0] * _grid(geometry).counts[2]
    return torch.empty_like(q), q.new_empty((windows, *bias.shape[1:3]), dtype=torch.float32)


@torch.library.custom_op("onescience_check::window_attention_backward", mutates_args=())
def _fused_backward(
    grad_out: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    geometry: list[int],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    grid = _grid(geometry)
    delta = torch.empty_like(lse)
    grad_q, grad_k, grad_v, grad_bias = (torch.empty_like(tensor) for tensor in (q, k, v, bias))
    tensors = (q, k, v, bias, out, grad_out, lse, delta, grad_q, grad_bias)
    _launch(query_gradient_kernel, "query", tensors, q, bias, grid)
    tensors = (q, k, v, bias, grad_out, lse, delta, grad_k, grad_v)
    _launch(key_gradient_kernel, "key", tensors, q, bias, grid)
    return grad_q, grad_k, grad_v, grad_bias


@_fused_backward.register_fake
def _(grad_out, q, k, v, bias, out, lse, geometry):
    return tuple(torch.empty_like(tensor) for tensor in (q, k, v, bias))


def _grid(geometry: list[int]) -> WindowGrid:
    return WindowGrid(tuple(geometry[:3]), tuple(geometry[3:6]), tuple(geometry[6:]))


def _setup_context(ctx, inputs, output):
    *tensors, ctx.geometry = inputs
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx, grad_out, _):
    return *_fused_backward(grad_out.contiguous(), *ctx.saved_tensors, ctx.geometry), None


fused.register_autograd(_backward, setup_context=_setup_context)

"""Triton kernels of window attention: windows, shift and padding are address arithmetic, nothing is copied.

# B batch, L = P * Y * X tokens of the grid (pressure level, latitude, longitude), T window types, H heads
# D channels of a head, N tokens in a window, S = B * nX windows of one type

A program owns one head, one window type and a tile of tokens (from token FIRST on), and walks along the circle of latitude over the
S windows of that type. They share their position bias, so it stays in registers, and its gradient is summed
there too: no (S, ..., N, N) tensor is ever written. N = 144 is no power of two, as Triton's blocks must be;
the other side of the scores is therefore held in blocks of 128 + 16 or, where registers are short, 64 + 64 + 16.

Backward recomputes the scores twice, once by query tile (dq and the bias) and once by key tile (dk, dv),
so that every sum stays inside one program: no atomics, the same result in every run.
Source of the backward formulas: Dao et al. 2022 (FlashAttention), appendix B.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)  # exp2 is what the hardware has


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
def _load(base, cell, inside, stride, D: tl.constexpr):
    """(tokens, D) of one head; zeros for padding."""
    return tl.load(base + cell[:, None] * stride + tl.arange(0, D)[None, :], inside[:, None], 0.0)


@triton.jit
def _load_bias(bias, query, key, N: tl.constexpr):
    """Bias of each pair in units of log 2; -inf for keys past the window."""
    pair = (query < N) & (key < N)
    value = tl.load(bias + query * N + key, pair, 0.0).to(tl.float32) * LOG2_E
    return tl.where(key < N, value, float("-inf"))


@triton.jit
def forward_kernel(
    qkv, bias, out, lse, windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
    FIRST: tl.constexpr,
):  # fmt: skip
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    query = FIRST + tl.program_id(1) * TILE + tl.arange(0, TILE)
    key0 = tl.arange(0, 2 * MAIN)
    key1 = 2 * MAIN + tl.arange(0, REST)
    row, inside = _rows(
        query, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row0, inside0 = _rows(
        key0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row1, inside1 = _rows(
        key1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    bias += (window_type * heads + head) * N * N
    bias0 = _load_bias(bias, query[:, None], key0[None, :], N)
    bias1 = _load_bias(bias, query[:, None], key1[None, :], N)
    q = qkv + head * D
    k, v = q + channels, q + 2 * channels
    out += head * D
    for window in range(windows):
        cell = _cells(row, query, window, n_x, cells, x, shift_x, WX)
        cell0 = _cells(row0, key0, window, n_x, cells, x, shift_x, WX)
        cell1 = _cells(row1, key1, window, n_x, cells, x, shift_x, WX)
        queries = _load(q, cell, inside, 3 * channels, D)
        score0 = tl.dot(queries, tl.trans(_load(k, cell0, inside0, 3 * channels, D))) * scale + bias0
        score1 = tl.dot(queries, tl.trans(_load(k, cell1, inside1, 3 * channels, D))) * scale + bias1
        top = tl.maximum(tl.max(score0, 1), tl.max(score1, 1))
        weight0 = tl.exp2(score0 - top[:, None])
        weight1 = tl.exp2(score1 - top[:, None])
        total = tl.sum(weight0, 1) + tl.sum(weight1, 1)
        mixed = tl.dot(weight0.to(qkv.dtype.element_ty), _load(v, cell0, inside0, 3 * channels, D))
        mixed = tl.dot(weight1.to(qkv.dtype.element_ty), _load(v, cell1, inside1, 3 * channels, D), mixed)
        target = out + cell[:, None] * channels + tl.arange(0, D)[None, :]
        tl.store(target, (mixed / total[:, None]).to(qkv.dtype.element_ty), inside[:, None])
        place = ((window * types + window_type) * heads + head) * N + query
        tl.store(lse + place, top + tl.log2(total), query < N)


@triton.jit
def _query_part(
    q, k, v, bias, queries, upstream, norm, dot, query, key, cell, inside, stride, scale, grad_queries,
    N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradient of the scores of a tile of queries with a part of the keys, and what these add to grad_queries."""
    keys = _load(k, cell, inside, stride, D)
    score = tl.dot(queries, tl.trans(keys)) * scale + _load_bias(bias, query[:, None], key[None, :], N)
    grad = tl.dot(upstream, tl.trans(_load(v, cell, inside, stride, D)))
    grad = tl.exp2(score - norm[:, None]) * (grad - dot[:, None])
    return grad, tl.dot(grad.to(q.dtype.element_ty), keys, grad_queries)


@triton.jit
def query_gradient_kernel(
    qkv, bias, out, grad_out, lse, delta, grad_qkv, grad_bias,
    windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
    FIRST: tl.constexpr,
):  # fmt: skip
    """Gradients of q and of the bias; leaves sum(out * grad_out) per query in ``delta``."""
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    query = FIRST + tl.program_id(1) * TILE + tl.arange(0, TILE)
    key0 = tl.arange(0, MAIN)
    key1 = MAIN + tl.arange(0, MAIN)
    key2 = 2 * MAIN + tl.arange(0, REST)
    row, inside = _rows(
        query, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row0, inside0 = _rows(
        key0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row1, inside1 = _rows(
        key1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row2, inside2 = _rows(
        key2, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    bias += (window_type * heads + head) * N * N
    grad_bias += (window_type * heads + head) * N * N
    sum0 = tl.zeros((TILE, MAIN), tl.float32)
    sum1 = tl.zeros((TILE, MAIN), tl.float32)
    sum2 = tl.zeros((TILE, REST), tl.float32)
    first, stride = head * D, 3 * channels
    q = qkv + first
    k, v = q + channels, q + 2 * channels
    for window in range(windows):
        cell = _cells(row, query, window, n_x, cells, x, shift_x, WX)
        queries = _load(q, cell, inside, stride, D)
        upstream = _load(grad_out + first, cell, inside, channels, D)
        result = _load(out + first, cell, inside, channels, D)
        place = ((window * types + window_type) * heads + head) * N + query
        dot = tl.sum(upstream.to(tl.float32) * result.to(tl.float32), 1)
        tl.store(delta + place, dot, query < N)
        norm = tl.load(lse + place, query < N, float("inf"))  # rows past the window get weight 0
        grad_queries = tl.zeros((TILE, D), tl.float32)
        cell0 = _cells(row0, key0, window, n_x, cells, x, shift_x, WX)
        grad, grad_queries = _query_part(q, k, v, bias, queries, upstream, norm, dot, query, key0, cell0, inside0, stride, scale, grad_queries, N, D)  # fmt: skip
        sum0 += grad
        cell1 = _cells(row1, key1, window, n_x, cells, x, shift_x, WX)
        grad, grad_queries = _query_part(q, k, v, bias, queries, upstream, norm, dot, query, key1, cell1, inside1, stride, scale, grad_queries, N, D)  # fmt: skip
        sum1 += grad
        cell2 = _cells(row2, key2, window, n_x, cells, x, shift_x, WX)
        grad, grad_queries = _query_part(q, k, v, bias, queries, upstream, norm, dot, query, key2, cell2, inside2, stride, scale, grad_queries, N, D)  # fmt: skip
        sum2 += grad
        target = grad_qkv + first + cell[:, None] * stride + tl.arange(0, D)[None, :]
        tl.store(target, (grad_queries * (scale / LOG2_E)).to(qkv.dtype.element_ty), inside[:, None])
    pair = query[:, None] * N
    tl.store(grad_bias + pair + key0[None, :], sum0, (query[:, None] < N) & (key0[None, :] < N))
    tl.store(grad_bias + pair + key1[None, :], sum1, (query[:, None] < N) & (key1[None, :] < N))
    tl.store(grad_bias + pair + key2[None, :], sum2, (query[:, None] < N) & (key2[None, :] < N))


@triton.jit
def _key_part(
    q, grad_out, lse, delta, bias, keys, values, place, query, cell, inside, stride, channels, scale,
    grad_keys, grad_values, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """What a part of the queries adds to the gradients of a tile of keys and values."""
    queries = _load(q, cell, inside, stride, D)
    upstream = _load(grad_out, cell, inside, channels, D)
    norm = tl.load(lse + place + query, query < N, float("inf"))
    dot = tl.load(delta + place + query, query < N, 0.0)
    weight = tl.exp2(tl.dot(keys, tl.trans(queries)) * scale + bias - norm[None, :])
    grad_values = tl.dot(weight.to(q.dtype.element_ty), upstream, grad_values)
    grad = weight * (tl.dot(values, tl.trans(upstream)) - dot[None, :])
    return tl.dot(grad.to(q.dtype.element_ty), queries, grad_keys), grad_values


@triton.jit
def key_gradient_kernel(
    qkv, bias, grad_out, lse, delta, grad_qkv,
    windows, n_x, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, shift_x, scale,
    WP: tl.constexpr, WY: tl.constexpr, WX: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, MAIN: tl.constexpr, REST: tl.constexpr,
    FIRST: tl.constexpr,
):  # fmt: skip
    """Gradients of k and v. The scores are held transposed: (keys of the tile, all queries)."""
    N: tl.constexpr = WP * WY * WX
    head, window_type = tl.program_id(0), tl.program_id(2)
    heads, types = tl.num_programs(0), tl.num_programs(2)
    channels = heads * D
    cells = p * y * x
    key = FIRST + tl.program_id(1) * TILE + tl.arange(0, TILE)
    query0 = tl.arange(0, MAIN)
    query1 = MAIN + tl.arange(0, MAIN)
    query2 = 2 * MAIN + tl.arange(0, REST)
    row, inside = _rows(
        key, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row0, inside0 = _rows(
        query0, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row1, inside1 = _rows(
        query1, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    row2, inside2 = _rows(
        query2, window_type, n_y, p, y, x, pad_p, pad_y, size_p, size_y, shift_p, shift_y, WP, WY, WX
    )
    bias += (window_type * heads + head) * N * N
    bias0 = _load_bias(bias, query0[None, :], key[:, None], N)
    bias1 = _load_bias(bias, query1[None, :], key[:, None], N)
    bias2 = _load_bias(bias, query2[None, :], key[:, None], N)
    first, stride = head * D, 3 * channels
    q = qkv + first
    grad_out += first
    for window in range(windows):
        cell = _cells(row, key, window, n_x, cells, x, shift_x, WX)
        keys = _load(q + channels, cell, inside, stride, D)
        values = _load(q + 2 * channels, cell, inside, stride, D)
        place = ((window * types + window_type) * heads + head) * N
        grad_keys = tl.zeros((TILE, D), tl.float32)
        grad_values = tl.zeros((TILE, D), tl.float32)
        cell0 = _cells(row0, query0, window, n_x, cells, x, shift_x, WX)
        grad_keys, grad_values = _key_part(q, grad_out, lse, delta, bias0, keys, values, place, query0, cell0, inside0, stride, channels, scale, grad_keys, grad_values, N, D)  # fmt: skip
        cell1 = _cells(row1, query1, window, n_x, cells, x, shift_x, WX)
        grad_keys, grad_values = _key_part(q, grad_out, lse, delta, bias1, keys, values, place, query1, cell1, inside1, stride, channels, scale, grad_keys, grad_values, N, D)  # fmt: skip
        cell2 = _cells(row2, query2, window, n_x, cells, x, shift_x, WX)
        grad_keys, grad_values = _key_part(q, grad_out, lse, delta, bias2, keys, values, place, query2, cell2, inside2, stride, channels, scale, grad_keys, grad_values, N, D)  # fmt: skip
        target = grad_qkv + first + channels + cell[:, None] * stride + tl.arange(0, D)[None, :]
        tl.store(target, (grad_keys * (scale / LOG2_E)).to(qkv.dtype.element_ty), inside[:, None])
        tl.store(target + channels, grad_values.to(qkv.dtype.element_ty), inside[:, None])

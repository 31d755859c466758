"""Window attention with the earth-specific position bias. All GPU tuning of the models is behind this file.

# B batch, L = P * Y * X tokens of the grid (pressure level, latitude, longitude), H heads, D channels of a head
# S = B * nX windows of one type, T window types
# N = wP * wY * wX tokens in a window (wP, wY, wX: its cells along pressure, latitude, longitude)
"""

import torch
from torch.nn import functional as F

from .windows import WindowGrid, attend_in_windows, cut_windows

try:
    from . import window_op
except ImportError:  # torch came without Triton
    window_op = None


def check_heads(dim: int, num_heads: int) -> None:
    """Raise ValueError unless the heads share the channels evenly."""
    if num_heads < 1 or dim < 1 or dim % num_heads:
        raise ValueError(f"dim ({dim}) must be a multiple of num_heads ({num_heads})")


def bias_table_shape(heads: int, window_types: int, window) -> tuple[int, ...]:
    """(T, H, wP, wY, wP, wY, 2 wX - 1): query level and latitude, key level and latitude, longitude distance.

    Pressure and latitude enter by position, longitude by difference only: the earth is the same all along a
    circle of latitude. So a window type holds wP^2 * wY^2 * (2 wX - 1) values a head.
    """
    w_p, w_y, w_x = window
    return (window_types, heads, w_p, w_y, w_p, w_y, 2 * w_x - 1)


def earth_position_bias(table: torch.Tensor, blocked: torch.Tensor | None) -> torch.Tensor:
    """Expand the table to one value per pair of tokens, -inf where the pair is blocked.

    table: see bias_table_shape; blocked: (T, N, N) bool or None. Returns (1, T * H, N, N) in the table's
    dtype.

    Source: Bi et al. 2023, Methods, earth-specific positional bias. The longitude part of a pair is a Toeplitz
    matrix: each row is the table slid by one cell. wX copies of the table in a row, cut into pieces one
    longer than the table, slide by themselves; so the gradient is a plain sum, not a scatter with atomics.
    """
    types, heads, w_p, w_y, _, _, distances = table.shape
    w_x = (distances + 1) // 2
    copies = table.unsqueeze(-2).expand(*table.shape[:-1], w_x, distances).flatten(-2)
    slid = F.pad(copies, (0, w_x)).view(*table.shape[:-1], w_x, distances + 1)  # [q, s] holds index q + s
    bias = slid[..., :w_x].flip(-1)  # the pair (q, k) needs q - k + wX - 1: s = wX - 1 - k
    bias = bias.permute(0, 1, 2, 3, 6, 4, 5, 7)  # T, H, then query (wP, wY, wX), then key (wP, wY, wX)
    tokens = w_p * w_y * w_x
    bias = bias.reshape(types, heads, tokens, tokens)
    if blocked is not None:
        bias = bias.masked_fill(blocked[:, None], float("-inf"))
    return bias.view(1, types * heads, tokens, tokens)


def joined_parameters(layers) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of several linear layers of one input as of a single one: (sum of channels, C), (sum,)."""
    return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])


def project_together(x: torch.Tensor, layers) -> torch.Tensor:
    """The outputs of several linear layers of one input, side by side, from a single product.

    x is read once, and its gradient is one product too instead of a sum of several.
    x: (..., C) -> (..., sum of the layers' channels).
    """
    return F.linear(x, *joined_parameters(layers))


def block_coasts(bias: torch.Tensor, ocean: torch.Tensor, grid: WindowGrid) -> torch.Tensor:
    """Block, in a bias per window type, the pairs of one ocean and one land cell too: a bias per window.

    bias: (1, T * H, N, N); ocean: (P, Y, X) bool, or (Y, X) for one level. Returns (nX, T * H, N, N). A cell sees
    itself at least, so no row is blocked whole.
    """
    cells = cut_windows(ocean.reshape(1, -1, 1), grid).view(-1, grid.window_tokens, grid.window_types)
    cells = cells.transpose(1, 2)  # nX, T, N
    coast = cells[..., :, None] != cells[..., None, :]
    per_type = bias.view(1, grid.window_types, -1, *bias.shape[2:])  # 1, T, H, N, N
    return per_type.masked_fill(coast[:, :, None], float("-inf")).flatten(1, 2)


def window_attention(
    qkv: torch.Tensor,
    bias: torch.Tensor,
    grid: WindowGrid,
    dropout: float,
    ocean: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q k^T / sqrt(D) + bias) v in every (shifted) window of ``grid``; no N x N scores are stored.

    qkv: (B, L, 3 * H * D) on the unpadded grid; bias: (1, T * H, N, N), which blocks all pairs of a cell and
    padding; ocean: see `block_coasts`, None where all cells may meet. Returns (B, L, H * D). H may be the heads of this
    tensor-parallel rank.

    On a GPU, in bf16 or fp16, without dropout and ocean, kernels of our own read the tokens where they lie. Else the
    windows are cut out and handed to torch's attention.
    """
    bias = bias.to(qkv.dtype)
    if ocean is not None:  # a bias for each window; the kernels read one for each type of window
        bias = block_coasts(bias, ocean, grid).repeat(qkv.shape[0], 1, 1, 1)
    elif window_op is not None and dropout == 0.0 and window_op.supports(qkv, bias, grid):
        geometry = [*grid.resolution, *grid.window, *grid.shift]
        return window_op.fused(qkv.contiguous(), bias.contiguous(), geometry)[0]
    # q, k, v go side by side along the batch: one cut for all three.
    return attend_in_windows(
        lambda windows: _cut_attention(*windows.chunk(3), bias, dropout),
        torch.cat(qkv.chunk(3, dim=-1)),
        grid,
    )


def _cut_attention(q, k, v, bias: torch.Tensor, dropout: float) -> torch.Tensor:
    """q, k, v: (S, N * T, H * D), in the token order of windows.py. Returns the same shape as q.

    N is slower than T, so (T, H) is one axis of an unbroken view and nothing is copied around the call.
    """
    _, types_heads, tokens, _ = bias.shape
    shape = q.shape
    # S, T * H, N, D
    q, k, v = (x.view(shape[0], tokens, types_heads, -1).transpose(1, 2) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)
    return out.transpose(1, 2).reshape(shape)

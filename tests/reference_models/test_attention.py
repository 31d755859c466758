"""The fused window attention against the formula of the paper, pair by pair."""

import math

import torch

from onescience_check.reference_models.modules.attention.earthattention3d import EarthAttention3D
from onescience_check.reference_models.modules.attention.window_attention import (
    bias_table_shape,
    earth_position_bias,
)
from onescience_check.reference_models.modules.attention.windows import WindowGrid, attend_in_windows

WINDOW = (2, 3, 4)
GRID = WindowGrid((4, 9, 8), WINDOW, (1, 1, 2))


def test_the_bias_depends_on_positions_and_on_the_longitude_distance():
    heads = 2
    table = torch.arange(float(torch.tensor(bias_table_shape(heads, 1, WINDOW)).prod())).view(
        bias_table_shape(heads, 1, WINDOW)
    )
    bias = earth_position_bias(table, blocked=None).view(1, heads, *WINDOW, *WINDOW)
    for p, y, x in torch.cartesian_prod(*map(torch.arange, WINDOW)).tolist():
        for key_p, key_y, key_x in torch.cartesian_prod(*map(torch.arange, WINDOW)).tolist():
            expected = table[0, :, p, y, key_p, key_y, x - key_x + WINDOW[2] - 1]
            assert torch.equal(bias[0, :, p, y, x, key_p, key_y, key_x], expected)


def explicit_attention(module, x, heads):
    """softmax(q k^T / sqrt(D) + bias) v with every tensor written out, one window and head at a time."""
    windows, _, channels = x.shape
    x = x.view(windows, GRID.window_tokens, GRID.window_types, channels)
    bias = earth_position_bias(module.earth_position_bias_table, None)
    bias = bias.view(GRID.window_types, heads, GRID.window_tokens, GRID.window_tokens)
    out = torch.empty_like(x)
    dim = channels // heads
    for kind in range(GRID.window_types):
        for head in range(heads):
            part = slice(head * dim, (head + 1) * dim)
            q, k, v = (
                layer(x[:, :, kind])[..., part] for layer in (module.q_proj, module.k_proj, module.v_proj)
            )
            scores = q @ k.transpose(1, 2) / dim**0.5 + bias[kind, head]
            scores = scores.masked_fill(module.blocked[kind], float("-inf"))
            out[:, :, kind, part] = scores.softmax(-1) @ v
    return module.proj(out.view(windows, -1, channels))


def test_attention_is_the_formula_of_the_paper():
    torch.manual_seed(0)
    module = EarthAttention3D(dim=12, grid=GRID, num_heads=3).double()
    torch.nn.init.normal_(module.earth_position_bias_table)
    x = torch.randn(2, math.prod(GRID.resolution), 12, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn_like(x)
    wanted = [x, *module.parameters()]
    fused = module(x)
    explicit = attend_in_windows(lambda windows: explicit_attention(module, windows, heads=3), x, GRID)
    # Both sum fewer than 100 products of numbers of order 1 in float64 (2e-16 each): 1e-12 leaves room for
    # the order.
    torch.testing.assert_close(fused, explicit, rtol=1e-12, atol=1e-12)
    for ours, reference in zip(
        torch.autograd.grad(fused, wanted, upstream),
        torch.autograd.grad(explicit, wanted, upstream),
        strict=True,
    ):
        torch.testing.assert_close(ours, reference, rtol=1e-11, atol=1e-11)

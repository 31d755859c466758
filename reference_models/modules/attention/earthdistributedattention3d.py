"""Earth-specific window attention of Pangu-Weather, split by heads over tensor-parallel ranks.

Window-parallel ranks (see window_parallel.py) hold some of the windows each.

# B batch, L = P * Y * X tokens of the grid (pressure level, latitude, longitude), C channel
"""

from contextlib import nullcontext

import torch
from megatron.core.parallel_state import get_tensor_model_parallel_rank
from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    get_cuda_rng_tracker,
    set_tensor_model_parallel_attributes,
)
from torch import nn

from ..window_parallel import own_windows, shift_tokens
from .window_attention import (
    bias_table_shape,
    check_heads,
    earth_position_bias,
    window_attention,
)
from .windows import WindowGrid

HEAD_AXIS = 1  # of the bias table, see bias_table_shape


class EarthDistributedAttention3D(nn.Module):
    """EarthAttention3D where each tensor-parallel rank computes num_heads / tp heads.

    q, k and v are layers of their own: the rows of a fused one would mean different heads at each tp size.
    The bias table is split by head as well.

    Args:
        dim: channels C, a multiple of num_heads.
        grid: the windows; its padding and shift decide which pairs of tokens are blocked.
        num_heads: attention heads of all ranks together, a multiple of the tensor-parallel size.
        attn_drop: dropout rate of the attention weights.
        proj_drop: dropout rate of the output.
        config: Megatron's TransformerConfig.

    Input (B, L, C), L tokens of this window-parallel rank, and ocean where land is to be kept apart: see
    EarthAttention3D. The same on all tensor-parallel ranks.
    """

    def __init__(
        self,
        dim: int,
        grid: WindowGrid,
        num_heads: int,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
        *,
        config,
    ):
        super().__init__()
        check_heads(dim, num_heads)
        tp_size = config.tensor_model_parallel_size
        if num_heads % tp_size:
            raise ValueError(
                f"num_heads ({num_heads}) must be a multiple of the tensor-parallel size ({tp_size})"
            )
        self.num_heads_per_rank = num_heads // tp_size
        self.grid, self.types = own_windows(grid)
        # Where windows are split, those of a shifted block begin some levels further on, maybe on the next rank.
        levels = grid.shift[0] - self.grid.shift[0]
        self.late_tokens = levels * grid.resolution[1] * grid.resolution[2]
        self.attn_drop = attn_drop

        self.q_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.k_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.v_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.earth_position_bias_table = nn.Parameter(self._own_heads_of_new_table(num_heads, grid))
        set_tensor_model_parallel_attributes(
            self.earth_position_bias_table, is_parallel=True, dim=HEAD_AXIS, stride=1
        )
        blocked = grid.blocked_pairs()
        if blocked is not None:
            blocked = blocked[self.types].clone()
        # onescience: differs  window-parallel ranks
        self.register_buffer("blocked", blocked, persistent=False)
        self.proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )
        self.proj_drop = nn.Dropout(proj_drop)

    def _own_heads_of_new_table(self, num_heads: int, grid: WindowGrid) -> torch.Tensor:
        """All ranks draw the whole table from their common generator: it is the same one at every tp size."""
        table = torch.empty(bias_table_shape(num_heads, grid.window_types, grid.window))
        nn.init.trunc_normal_(table, std=0.02)
        first = get_tensor_model_parallel_rank() * self.num_heads_per_rank
        return table.narrow(HEAD_AXIS, first, self.num_heads_per_rank).clone()

    def project_qkv(self, x: torch.Tensor) -> torch.Tensor:
        """(B, L, C) -> (B, L, 3 * C / tp), of the heads of this rank.

        `fast_layers` exchanges this for one product, whose gradients of x meet before the all-reduce.
        """
        q, _ = self.q_proj(x)
        k, _ = self.k_proj(x)
        v, _ = self.v_proj(x)
        return torch.cat([q, k, v], dim=-1)

    def forward(self, x: torch.Tensor, ocean: torch.Tensor | None = None) -> torch.Tensor:
        qkv = self.project_qkv(shift_tokens(x, self.late_tokens))
        bias = earth_position_bias(self.earth_position_bias_table[self.types], self.blocked)
        # Each rank drops weights of its own heads; the output, the same on all ranks, is dropped alike below.
        dropout = self.attn_drop if self.training else 0.0
        with get_cuda_rng_tracker().fork() if dropout else nullcontext():
            x = window_attention(qkv, bias, self.grid, dropout, ocean)
        x, _ = self.proj(x)
        return self.proj_drop(shift_tokens(x, -self.late_tokens))

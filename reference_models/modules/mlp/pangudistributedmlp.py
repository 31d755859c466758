"""Feed-forward part of a transformer block, split over tensor-parallel ranks."""

from contextlib import nullcontext

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
from torch import nn


class PanguDistributedMlp(nn.Module):
    """PanguMlp with its hidden channels split: Column, GELU, Row. One all-reduce forward and one backward.

    Args:
        dim: channels C of input and output.
        hidden_dim: channels in between, a multiple of the tensor-parallel size.
        drop: dropout rate after each linear layer.
        config: Megatron's TransformerConfig.

    Input and output: (..., C), the same on all tensor-parallel ranks; at most three axes.
    """

    def __init__(self, dim: int, hidden_dim: int, drop: float = 0.0, *, config):
        super().__init__()
        self.fc1 = ColumnParallelLinear(
            dim,
            hidden_dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden_dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )
        self.drop = nn.Dropout(drop)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """(..., C) -> (..., hidden_dim / tp), the channels of this rank."""
        x, _ = self.fc1(x)
        return self.act(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.hidden(x)
        # Hidden channels differ from rank to rank and need draws of their own; what fc2 returns needs common
        # ones.
        own_draws = self.training and self.drop.p > 0
        with get_cuda_rng_tracker().fork() if own_draws else nullcontext():
            x = self.drop(x)
        x, _ = self.fc2(x)
        return self.drop(x)

from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class MLP(nn.Module):
    """One flag for both layers is right; on one of them alone it is not."""

    def __init__(self, dim, whole: bool):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, disable_tp=whole)
        self.down = RowParallelLinear(4 * dim, dim, disable_tp=whole)
        self.gate = ColumnParallelLinear(dim, 4 * dim, disable_tp=whole)
        self.out = RowParallelLinear(4 * dim, dim)

    def forward(self, x):
        h, _ = self.down(self.up(x)[0])
        return self.out(self.gate(h)[0])[0]  # [input-is-parallel-mismatch]

"""A copy of Megatron kept as a submodule of git, not in the tree: the first releases returned a tensor."""

from torch import nn
from torch.nn import functional as F
from translate.model_parallel.megatron.mpu import ColumnParallelLinear, RowParallelLinear


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = ColumnParallelLinear(dim, 4 * dim, gather_output=False)
        self.fc2 = RowParallelLinear(4 * dim, dim, input_is_parallel=True)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x))) + x

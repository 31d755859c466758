"""No layer of the tree is given a config: it may be written for a Megatron-Core that had none."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, hidden, init):
        super().__init__()
        self.fc1 = ColumnParallelLinear(dim, hidden, init_method=init, gather_output=False)
        self.gate = ColumnParallelLinear(dim, hidden, init_method=init, gather_output=False)
        self.fc2 = RowParallelLinear(hidden, dim, init_method=init, input_is_parallel=True)

    def forward(self, x):
        return self.fc2(self.fc1(x)[0] * self.gate(x)[0])[0]

import torch.nn.functional as F
from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    reduce_from_tensor_model_parallel_region,
)
from torch import nn


class Tied(nn.Module):
    """The split output of a column layer needs no collective; the row product is reduced; a norm of a weight."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.fc2 = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=False, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden = F.gelu(F.linear(x, self.fc1.weight))
        part = F.linear(hidden, self.fc2.weight)
        out = reduce_from_tensor_model_parallel_region(part)
        return out, self.fc2.weight.norm()

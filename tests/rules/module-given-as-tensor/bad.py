import torch.nn.functional as F
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Edges(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.source = nn.Linear(dim, dim, bias=False)
        self.target = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=False,
            input_is_parallel=False, skip_bias_add=False,
        )

    def forward(self, x, y):
        return F.linear(x, self.source, None) + F.linear(y, self.target)  # [module-given-as-tensor, module-given-as-tensor]

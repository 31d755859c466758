import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class LocalGlobalMerge(nn.Module):
    """The local and the global branch, joined on the split channels."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.local = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.globe = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.merge = RowParallelLinear(
            2 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        near = nn.functional.gelu(self.local(x)[0])
        far, _ = self.globe(x.flip(1))
        both = torch.concat((near, far), -1)
        return self.merge(both)[0]  # [cat-of-shards]

import torch.nn.functional as F
from megatron.core.tensor_parallel import RowParallelLinear, reduce_from_tensor_model_parallel_region
from torch import nn


class Out(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        x = F.linear(x, self.proj.weight, self.proj.bias)  # [bias-added-before-reduce]
        return reduce_from_tensor_model_parallel_region(x)

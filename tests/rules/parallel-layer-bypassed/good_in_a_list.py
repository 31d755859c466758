import torch.nn.functional as F
from megatron.core.tensor_parallel import RowParallelLinear, reduce_from_tensor_model_parallel_region
from torch import nn


class Reduced(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        layers = []
        layers.append(
            RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )
        )
        self.model = nn.ModuleList(layers)

    def forward(self, x):
        return reduce_from_tensor_model_parallel_region(F.linear(x, self.model[0].weight))


class Called(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        layers = []
        layers.append(
            RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=False,
                input_is_parallel=True, skip_bias_add=False,
            )
        )
        self.model = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.model:
            print(layer.weight.shape)
            x, _ = layer(x)
        return x

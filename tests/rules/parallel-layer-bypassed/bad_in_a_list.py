import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return F.linear(F.silu(x), weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, grad.sum(0)


class Mlp(nn.Module):
    def __init__(self, dim, depth, config):
        super().__init__()
        layers = [nn.SiLU()]
        for index in range(depth):
            if index % 2 == 0:
                layer = ColumnParallelLinear(
                    dim, dim, config=config, init_method=config.init_method, gather_output=False
                )
            else:
                layer = RowParallelLinear(
                    dim, dim, config=config, init_method=config.init_method, bias=True,
                    input_is_parallel=True, skip_bias_add=False,
                )
            layers.append(layer)
        self.model = nn.Sequential(*layers)
        self.depth = depth

    def forward(self, x):
        for index in range(self.depth):
            layer = self.model[index]
            x = Fused.apply(x, layer.weight, layer.bias)  # [parallel-layer-bypassed]
        return x

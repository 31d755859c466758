from torch import nn
from torch.nn import functional as F


class RowParallelLinear(nn.Module):
    def __init__(self, input_size, output_size, *, init_method, bias, input_is_parallel, skip_bias_add, config=None):
        super().__init__()
        self.weight = nn.Parameter(init_method(output_size, input_size))
        self.bias = None

    def forward(self, x, kept=None):
        out = reduce_from_tensor_model_parallel_region(F.linear(x, self.weight))
        if kept is not None:
            return out, self.bias, kept + 1
        return out, self.bias


def reduce_from_tensor_model_parallel_region(x):
    return x

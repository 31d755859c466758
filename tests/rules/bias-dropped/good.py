from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


def bias_dropout_add(out_and_bias, residual, prob):
    out, bias = out_and_bias
    return residual + nn.functional.dropout(out + bias, prob)


class Layer(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.dense = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=True
        )
        self.no_bias = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=False, input_is_parallel=False, skip_bias_add=True
        )
        self.adds_it = ColumnParallelLinear(
            dim, dim, config=config, init_method=init, skip_bias_add=False, gather_output=True
        )

    def forward(self, x):
        y = bias_dropout_add(self.dense(x), x, 0.1)
        z, _ = self.no_bias(y)
        return self.adds_it(z)[0]

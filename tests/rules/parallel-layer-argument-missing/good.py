from fairscale.nn.model_parallel.layers import ColumnParallelLinear as TensorColumn
from megatron.core import tensor_parallel
from torch import nn


class Row(tensor_parallel.RowParallelLinear):
    """Fills in what all layers of this model share."""

    def __init__(self, width_in, width_out, config):
        super().__init__(
            width_in, width_out, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.qkv = tensor_parallel.ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )
        self.proj = Row(dim, dim, config)
        self.gate = TensorColumn(dim, dim, True)

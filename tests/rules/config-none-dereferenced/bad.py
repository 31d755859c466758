from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, heads, *, megatron_config=None):
        super().__init__()
        self.megatron_config = megatron_config
        self.heads = heads // megatron_config.tensor_model_parallel_size  # [config-none-dereferenced]
        self.proj = RowParallelLinear(
            dim, dim, config=megatron_config, init_method=megatron_config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )

"""The same layout, but a config is given: that is Megatron-Core 0.3 or newer."""

from megatron import get_args
from megatron.core import tensor_parallel
from megatron.model.module import MegatronModule


class ParallelMLP(MegatronModule):
    def __init__(self, config):
        super().__init__()
        args = get_args()
        self.dense_4h_to_h = tensor_parallel.RowParallelLinear(  # [parallel-layer-argument-missing]
            args.ffn_hidden_size, config.hidden_size, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True,
        )

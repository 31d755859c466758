"""Megatron-LM of early 2023: its Megatron-Core 0.2 took no config. Which version is installed cannot be told."""

from megatron import get_args
from megatron.core import tensor_parallel
from megatron.model.module import MegatronModule


class ParallelMLP(MegatronModule):
    def __init__(self, init_method, output_layer_init_method):
        super().__init__()
        args = get_args()
        self.dense_h_to_4h = tensor_parallel.ColumnParallelLinear(
            args.hidden_size, args.ffn_hidden_size, gather_output=False, init_method=init_method, skip_bias_add=True
        )
        self.dense_4h_to_h = tensor_parallel.RowParallelLinear(
            args.ffn_hidden_size, args.hidden_size, input_is_parallel=True, init_method=output_layer_init_method
        )

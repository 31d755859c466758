"""The counts come from Megatron's arguments, which Megatron has checked."""

from megatron.core import parallel_state
from megatron.training import get_args


class Converter:
    def __init__(self, args_cmd):
        self.num_layers = args_cmd.num_layers

    def first_layer(self):
        pp = parallel_state.get_pipeline_model_parallel_world_size()
        return parallel_state.get_pipeline_model_parallel_rank() * (self.num_layers // pp)


def layers_here(num_layers, pp_size, rank):
    here = num_layers // pp_size
    return range(rank * here, (rank + 1) * here)


def report():
    args = get_args()
    return layers_here(args.num_layers, parallel_state.get_pipeline_model_parallel_world_size(), 0)

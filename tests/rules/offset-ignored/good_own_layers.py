from megatron.core import parallel_state
from torch import nn


def own_layers(total):
    count = total // parallel_state.get_pipeline_model_parallel_world_size()
    return parallel_state.get_pipeline_model_parallel_rank() * count, count


class Decoder(nn.Module):
    def __init__(self, block, config):
        super().__init__()
        offset, count = own_layers(config.num_layers)
        self.layers = nn.ModuleList(
            block(config, offset + i + 1)
            for i in range(count)
        )

from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear, scatter_to_sequence_parallel_region
from torch import nn


class Masked(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.sequence_parallel = config.sequence_parallel
        self.read = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x, padding):
        if self.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
            ranks = parallel_state.get_tensor_model_parallel_world_size()
            padding = padding.chunk(ranks, dim=0)[parallel_state.get_tensor_model_parallel_rank()]
        q, _ = self.read(x)
        return q.masked_fill(padding[:, :, None], 0.0)  # [full-on-sequence-shard]

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, scatter_to_sequence_parallel_region
from torch import nn


class Turned(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.read = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=False
        )

    def angles(self, count):
        places = torch.arange(count, dtype=torch.float32)
        return torch.outer(places, 1.0 / torch.arange(1, 9)).cos()[:, None, :]

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        turns = self.angles(x.shape[0])
        q, _ = self.read(x)
        return q.float() * turns  # [full-on-sequence-shard]

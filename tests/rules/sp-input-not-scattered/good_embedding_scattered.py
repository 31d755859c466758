from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    VocabParallelEmbedding,
    scatter_to_sequence_parallel_region,
)
from torch import nn


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = ColumnParallelLinear(
            config.hidden_size, 64, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.up(x)[0]


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.word = VocabParallelEmbedding(
            1000, config.hidden_size, init_method=config.init_method, config=config, reduce_scatter_embeddings=False
        )
        self.block = Block(config)

    def forward(self, ids):
        x = self.word(ids).transpose(0, 1)
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return self.block(x)

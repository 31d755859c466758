import torch
from megatron.core.tensor_parallel import VocabParallelEmbedding, scatter_to_sequence_parallel_region
from torch import nn


class Join(nn.Module):
    def __init__(self, config, patches):
        super().__init__()
        self.config = config
        self.word = VocabParallelEmbedding(1000, config.hidden_size, init_method=config.init_method, config=config)
        self.pos = nn.Parameter(torch.zeros(patches, 1, config.hidden_size))

    def forward(self, image, ids):
        x = torch.cat((image + self.pos, self.word(ids).transpose(0, 1)), dim=0)
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return x

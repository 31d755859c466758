"""Text tokens are scattered before they are joined with those of the image, whose positions are of the whole length."""

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
        image = image + self.pos
        text = self.word(ids).transpose(0, 1)
        if self.config.sequence_parallel:
            text = scatter_to_sequence_parallel_region(text)
        return torch.cat((image, text), dim=0)  # [full-on-sequence-shard]

from megatron.core.tensor_parallel import VocabParallelEmbedding
from torch import nn


class Words(nn.Module):
    def __init__(self, config, words, width):
        super().__init__()
        self.table = VocabParallelEmbedding(
            words, width, init_method=config.init_method, config=config, reduce_scatter_embeddings=True
        )

    def forward(self, ids):
        return self.table(ids)

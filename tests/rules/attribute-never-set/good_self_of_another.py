from torch import nn
from torch.nn import functional as F


class VocabParallelEmbedding:
    @staticmethod
    def forward(self: nn.Embedding, input, size):
        rows = self.num_embeddings // size
        return F.embedding(input.clamp(max=rows - 1), self.weight, self.padding_idx)

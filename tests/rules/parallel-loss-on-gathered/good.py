from megatron.core import tensor_parallel
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, vocabulary, config):
        super().__init__()
        self.out = tensor_parallel.ColumnParallelLinear(
            dim, vocabulary, config=config, init_method=config.init_method, gather_output=False
        )
        self.whole = tensor_parallel.ColumnParallelLinear(
            dim, vocabulary, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x, labels):
        loss = tensor_parallel.vocab_parallel_cross_entropy(self.out(x)[0].float(), labels)
        return loss + nn.functional.cross_entropy(self.whole(x)[0], labels)

from megatron.core import tensor_parallel
from torch import nn


class Head(nn.Module):
    """Whether the logits are gathered is an option that the loss follows too."""

    def __init__(self, dim, vocabulary, config, parallel_output):
        super().__init__()
        self.out = tensor_parallel.ColumnParallelLinear(
            dim, vocabulary, config=config, init_method=config.init_method, gather_output=not parallel_output
        )

    def forward(self, x, labels, logits):
        mine, _ = self.out(x)
        loss = tensor_parallel.vocab_parallel_cross_entropy(mine, labels)
        return loss + tensor_parallel.vocab_parallel_cross_entropy(logits, labels)

from megatron.core.tensor_parallel import RowParallelLinear, VocabParallelEmbedding
from torch import nn


class Skipped(nn.Identity):
    pass


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.mix = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=False, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x):
        return x + self.mix(x)[0]


class Model(nn.Module):
    def __init__(self, vocab, dim, depth, start, end, config):
        super().__init__()
        self.embed = VocabParallelEmbedding(vocab, dim, config=config, init_method=config.init_method)
        self.layers = nn.ModuleList(
            [Skipped() for _ in range(start)]
            + [Block(dim, config) for _ in range(start, end)]
            + [Skipped() for _ in range(end, depth)]
        )
        self.score = RowParallelLinear(
            dim, 2, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.score(x)[0]  # [input-is-parallel-mismatch]

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Scores(nn.Module):
    def __init__(self, config, words):
        super().__init__()
        self.words = ColumnParallelLinear(
            config.hidden_size, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x, labels):
        scores, _ = self.words(x)
        return scores.gather(-1, labels.clamp(0, 100).unsqueeze(-1))  # [rank-offset-missing]

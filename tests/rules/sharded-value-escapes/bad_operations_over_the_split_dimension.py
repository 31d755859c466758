import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from torch.nn import functional as F


class Regimes(nn.Module):
    def __init__(self, dim, classes, config):
        super().__init__()
        self.score = ColumnParallelLinear(
            dim, classes, config=config, init_method=config.init_method, gather_output=False
        )
        self.soft = nn.Softmax(dim=-1)

    def loss(self, x, target):
        scores, _ = self.score(x)
        return F.cross_entropy(scores, target)  # [sharded-value-escapes]

    def forward(self, x):
        scores, _ = self.score(x)
        weights = torch.softmax(scores, dim=-1)  # [sharded-value-escapes]
        best = scores.topk(4)  # [sharded-value-escapes]
        mean = scores.mean(dim=-1, keepdim=True)  # [sharded-value-escapes]
        soft = self.soft(scores)  # [sharded-value-escapes]
        return F.layer_norm(scores, scores.shape[-1:]), weights, best, mean, soft  # [sharded-value-escapes]


class Latents(nn.Module):
    def __init__(self, dim, first, second, config):
        super().__init__()
        self.sizes = [first, second]
        self.both = ColumnParallelLinear(
            dim, first + second, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        both, _ = self.both(x)
        return both.split(self.sizes, dim=-1)  # [sharded-value-escapes]

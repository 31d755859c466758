import torch
from torch import nn
from torch.nn import functional as F

from megatron.core.tensor_parallel import ColumnParallelLinear


def attend(q, k, v, dropout):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):  # [dropout-in-evaluation]
        if self.drop_prob == 0.0:
            return x
        keep = 1 - self.drop_prob
        return x * torch.empty(x.shape[0], 1, 1).bernoulli_(keep) / keep


class Heath(nn.Module):
    def __init__(self, dim, drop, config):
        super().__init__()
        self.drop = drop
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x):
        q, k, v = self.qkv(x)[0].chunk(3, dim=-1)
        rate = self.drop
        x = attend(q, k, v, rate)  # [dropout-in-evaluation]
        return F.dropout(x, self.drop)  # [dropout-in-evaluation]

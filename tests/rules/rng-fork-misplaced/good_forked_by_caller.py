from megatron.core.tensor_parallel import ColumnParallelLinear, get_cuda_rng_tracker
from torch import nn
from torch.nn import functional as F


class Drop(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.1, training=self.training)


class Widen(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )
        self.drop = Drop()

    def forward(self, x):
        hidden, _ = self.up(x)
        with get_cuda_rng_tracker().fork():
            return self.drop(hidden)

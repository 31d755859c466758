from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class Gyre(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, hidden)

    def forward(self, x):
        return self.fc(self.norm(x))


class GyreDistributed(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        # onescience: differs half precision needs it  # [differs-from-original]
        self.norm = nn.LayerNorm(
            dim,
            eps=1e-6,
            elementwise_affine=False,
        )
        self.fc = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=True
        )

    def forward(self, x):
        return self.fc(self.norm(x))[0]

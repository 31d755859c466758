"""A mark behind one argument speaks of that argument."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class SkerryHead(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, hidden)

    def forward(self, x):
        return self.fc(self.norm(x))


class SkerryDistributedHead(nn.Module):
    def __init__(self, dim, hidden, config=None):
        super().__init__()
        self.norm = nn.LayerNorm(
            dim,
            eps=1e-6,  # onescience: differs half precision needs it
            elementwise_affine=False,  # [differs-from-original]
        )
        self.fc = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=True
        )

    def forward(self, x):
        return self.fc(self.norm(x))[0]

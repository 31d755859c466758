from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class EddyDistributedFuser(nn.Module):
    def __init__(self, dim, channels=6, config=None):
        super().__init__()
        self.embed = nn.Linear(channels, dim)
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        return self.fc(self.embed(x))[0]

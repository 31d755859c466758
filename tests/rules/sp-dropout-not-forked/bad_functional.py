from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn
from torch.nn import functional as F


class Enter(nn.Module):
    def __init__(self, channels, dim, config):
        super().__init__()
        self.embed = nn.Linear(channels, dim)
        self.sequence_parallel = config.sequence_parallel

    def forward(self, x):
        x = self.embed(x)
        if self.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return F.dropout(x, 0.1, self.training)  # [sp-dropout-not-forked]

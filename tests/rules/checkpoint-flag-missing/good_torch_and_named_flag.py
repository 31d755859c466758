from megatron.core import tensor_parallel
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        x = checkpoint(self.fc, x, use_reentrant=False)
        return tensor_parallel.checkpoint(self.fc, self.config.distribute_saved_activations, x)

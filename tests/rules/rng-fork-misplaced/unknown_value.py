from megatron.core.tensor_parallel import get_cuda_rng_tracker
from torch import nn
from torch.nn import functional as F


class Leave(nn.Module):
    """What the values are is not known."""

    def __init__(self, tensor_parallel_block):
        super().__init__()
        self.block = tensor_parallel_block

    def forward(self, x):
        with get_cuda_rng_tracker().fork():
            x = F.dropout(x, 0.1)
        return F.dropout(self.block(x), 0.1)

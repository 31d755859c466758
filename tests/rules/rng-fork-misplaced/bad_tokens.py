from megatron.core import tensor_parallel
from torch import nn
from torch.nn import functional as F


class Leave(nn.Module):
    """Each rank has its own tokens, and one mask for all."""

    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, parts, whole):
        if self.config.sequence_parallel:
            parts = tensor_parallel.reduce_scatter_to_sequence_parallel_region(parts)
            return F.dropout(parts, 0.1)  # [rng-fork-misplaced]
        with tensor_parallel.get_cuda_rng_tracker().fork():
            return F.dropout(whole, 0.1)

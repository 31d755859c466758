import torch
from megatron.core import tensor_parallel
from torch import nn


class Drop(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        with tensor_parallel.get_cuda_rng_tracker().fork():  # [rng-tracker-not-seeded]
            return nn.functional.dropout(x, self.rate, self.training)

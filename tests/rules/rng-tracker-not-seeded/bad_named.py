import torch
from megatron.core.tensor_parallel import get_cuda_rng_tracker


def drop(x, rate):
    with get_cuda_rng_tracker().fork("attention"):  # [rng-tracker-not-seeded]
        return torch.nn.functional.dropout(x, rate)

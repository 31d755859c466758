import torch
from megatron.core.tensor_parallel import get_cuda_rng_tracker


def start(seed):
    get_cuda_rng_tracker().add("attention", seed)


def drop(x, rate):
    with get_cuda_rng_tracker().fork("attention"), get_cuda_rng_tracker().fork("expert-parallel-rng"):
        return torch.nn.functional.dropout(x, rate)

import torch
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import get_cuda_rng_tracker


def start(tp, seed):
    mpu.initialize_model_parallel(tp)
    tracker = get_cuda_rng_tracker()
    get_cuda_rng_tracker().add("model-parallel-rng", seed + mpu.get_tensor_model_parallel_rank())
    return tracker


def drop(x):
    with get_cuda_rng_tracker().fork():
        return torch.nn.functional.dropout(x)

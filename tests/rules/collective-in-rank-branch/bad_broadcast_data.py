import torch
from megatron.core import parallel_state as mpu
from megatron.core import tensor_parallel


def tokens(data):
    if mpu.get_tensor_model_parallel_rank() == 0:
        held = tensor_parallel.broadcast_data(["text"], next(data), torch.int64)  # [collective-in-rank-branch]
        print(held["text"].shape)

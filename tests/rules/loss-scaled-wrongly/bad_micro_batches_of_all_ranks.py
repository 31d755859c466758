import torch.distributed as dist
from megatron.core import parallel_state as mpu


def num_micro_batches(train):
    per_step = train.micro_batch_size * dist.get_world_size()
    return train.global_batch_size // per_step  # [loss-scaled-wrongly]


def split(width):
    return width // mpu.get_tensor_model_parallel_world_size()

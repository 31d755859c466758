from megatron.core import mpu
from torch import nn


class Model(nn.Module):
    def __init__(self, dim, pre_process, post_process):
        super().__init__()
        self.pre_process, self.post_process = pre_process, post_process


def build(dim):
    first = mpu.is_pipeline_first_stage()
    return Model(dim, pre_process=first, post_process=mpu.is_pipeline_last_stage(ignore_virtual=True))


def by_rank(dim):
    rank, size = mpu.get_pipeline_model_parallel_rank(), mpu.get_pipeline_model_parallel_world_size()
    return Model(dim, rank == 0, post_process=rank == size - 1)

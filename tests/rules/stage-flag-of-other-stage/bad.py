from megatron.core import mpu
from torch import nn


class Model(nn.Module):
    def __init__(self, dim, pre_process, post_process):
        super().__init__()
        self.pre_process, self.post_process = pre_process, post_process


def build(dim):
    is_first = mpu.is_pipeline_first_stage()
    model = Model(dim, pre_process=is_first, post_process=not mpu.is_pipeline_last_stage())  # [stage-flag-of-other-stage]
    return model


def other(dim):
    pre_process = mpu.get_pipeline_model_parallel_rank() == mpu.get_pipeline_model_parallel_world_size() - 1  # [stage-flag-of-other-stage]
    return Model(dim, pre_process, True)

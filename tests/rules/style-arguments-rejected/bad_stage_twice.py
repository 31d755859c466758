from megatron.core import mpu
from torch import nn


class Tide_stage0(nn.Module):
    def __init__(self, width=96, heads=8, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None

    def forward(self, x):
        return x


class Tide_stage1(Tide_stage0):
    def __init__(self, width=96, heads=8, config=None, **kwargs):
        super().__init__(width, heads, config)


def build(cls, cfg, config):
    return cls(cfg.width, width=96, heads=cfg.heads, config=config)  # [style-arguments-rejected]


def model_provider(pre_process=True, post_process=True):
    stages = {0: Tide_stage0, 1: Tide_stage1}
    return build(stages[mpu.get_pipeline_model_parallel_rank()], read(), None)


def forward_step(data_iterator, model):
    return model(None), None

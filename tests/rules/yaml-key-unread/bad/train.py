from megatron.core import mpu
from onescience.utils.fcn.YParams import YParams
from torch import nn


class Tide_stage0(nn.Module):
    def __init__(self, width=96, heads=(6, 12), rate=0.1, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None

    def forward(self, x):
        return x


class Tide_stage1(Tide_stage0):
    pass


def build(cls, cfg, config):
    return cls(width=cfg.width, config=config)  # [yaml-key-unread]


def model_provider(pre_process=True, post_process=True):
    cfg = YParams("config.yaml", "model")
    stages = {0: Tide_stage0, 1: Tide_stage1}
    return build(stages[mpu.get_pipeline_model_parallel_rank()], cfg, None)


def forward_step(data_iterator, model):
    return model(None), None

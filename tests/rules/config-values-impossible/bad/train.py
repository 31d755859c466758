"""Another file of the folder: heads that do not share the channels, a depth too few, a rate above 1."""

import yaml
from megatron.core import mpu
from megatron.training import pretrain
from torch import nn


class Plover_stage0(nn.Module):
    def __init__(self, dim=96, num_heads=(4, 8), depths=(2, 2), drop_path=0.1, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None


class Plover_stage1(nn.Module):
    def __init__(self, dim=96, num_heads=(4, 8), depths=(2, 2), drop_path=0.1, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None


def model_provider(pre_process=False, post_process=True):
    with open("config.yaml") as file:
        cfg = yaml.safe_load(file)
    stages = {0: Plover_stage0, 1: Plover_stage1}
    return stages[mpu.get_pipeline_model_parallel_rank()](
        dim=cfg["dim"],
        num_heads=cfg["num_heads"],  # [config-values-impossible]
        depths=cfg["depths"],  # [config-values-impossible]
        drop_path=cfg["drop_path"],  # [config-values-impossible]
    )


pretrain(model_provider=model_provider)

import yaml
from megatron.core import mpu
from megatron.training import pretrain
from model import Dunlin_stage0, Dunlin_stage1


def model_provider(pre_process=False, post_process=True):
    with open("config.yaml") as file:
        cfg = yaml.safe_load(file)
    stages = {0: Dunlin_stage0, 1: Dunlin_stage1}
    return stages[mpu.get_pipeline_model_parallel_rank()](
        img_size=cfg["img_size"],  # [config-values-impossible]
        dim=cfg["dim"],
    )


pretrain(model_provider=model_provider)

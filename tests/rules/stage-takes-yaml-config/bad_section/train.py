from megatron.core import mpu
from omegaconf import OmegaConf
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1


def model_provider(pre_process=False, post_process=True):
    cfg = OmegaConf.load("conf/config.yaml")
    stages = {0: Tide_stage0, 1: Tide_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](
        dim=cfg.model.dim,
        grid=cfg.model.grid,
        sizes=cfg.model,  # [stage-takes-yaml-config]
    )
    return model, PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])

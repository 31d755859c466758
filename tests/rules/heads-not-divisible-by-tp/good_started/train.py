from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1


def provide(pre_process=False, post_process=True):
    stages = {0: Tide_stage0, 1: Tide_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](num_heads=(8, 16), dim=96)
    return model, PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 96]]])

from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1, Tide_stage2


def provide(pre_process=False, post_process=True):
    by_rank = [Tide_stage0, Tide_stage1, Tide_stage1]  # [stage-map-incomplete]
    return by_rank[mpu.get_pipeline_model_parallel_rank()]()

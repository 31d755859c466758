from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1, Tide_stage2


def provide(pre_process=False, post_process=True):
    rank = mpu.get_pipeline_model_parallel_rank()
    if rank == 0:  # [stage-map-incomplete]
        return Tide_stage0()
    elif rank == 1:
        return Tide_stage2()
    else:
        return Tide_stage1()

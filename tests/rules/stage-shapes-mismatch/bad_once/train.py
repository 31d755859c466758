from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

from stages import Kelp_stage0, Kelp_stage1, Kelp_stage2

STAGES = (Kelp_stage0, Kelp_stage1, Kelp_stage2)


def shapes():
    feature = [1, 12, 24, 96]  # [stage-shapes-mismatch]
    return [[feature] for _ in range(len(STAGES) - 1)]


def model_provider(pre_process=False, post_process=True):
    stage = STAGES[mpu.get_pipeline_model_parallel_rank()]
    config = PipelineTensorShapeConfig(num_stages=len(STAGES), stage_shapes=shapes())
    return stage(dim=64), config

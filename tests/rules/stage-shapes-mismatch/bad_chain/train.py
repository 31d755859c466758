from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Kelp_stage0, Kelp_stage1, Kelp_stage2


def model_provider(pre_process=False, post_process=True):
    rank = mpu.get_pipeline_model_parallel_rank()
    if rank == 0:
        cls = Kelp_stage0
    elif rank == 1:
        cls = Kelp_stage1
    else:
        cls = Kelp_stage2
    shapes = PipelineTensorShapeConfig(
        num_stages=3,
        stage_shapes=[[[1, 288, 64]], [[1, 288, 96]]],  # [stage-shapes-mismatch]
    )
    return cls(dim=64), shapes

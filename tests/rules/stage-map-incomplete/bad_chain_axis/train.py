from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Reef_stage0, Reef_stage1, Reef_stage2


def model_provider(pre_process=False, post_process=True):
    rank = mpu.get_tensor_model_parallel_rank()
    if rank == 0:  # [stage-map-incomplete]
        cls = Reef_stage0
    elif rank == 1:
        cls = Reef_stage1
    else:
        cls = Reef_stage2
    shapes = PipelineTensorShapeConfig(num_stages=3, stage_shapes=[[[1, 64, 32]], [[1, 64, 32]]])
    return cls(32), shapes

from onescience.distributed.megatron.core import mpu
from onescience.distributed.megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Rain_stage0, Rain_stage1


def model_provider(pre_process=False, post_process=True):
    """The stage sends four times the tokens that its last submodule takes."""
    stages = {0: Rain_stage0, 1: Rain_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](grid=(90, 180), dim=96)
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=2, stage_shapes=[[[1, 4 * 90 * 180, 96]]]
    )
    return model

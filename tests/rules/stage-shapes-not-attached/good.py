from megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from parts import build


def by_name(pre_process=False, post_process=True):
    args = get_args()
    crossing = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])
    args.pipeline_tensor_shape_config = crossing
    return build()


def at_once(pre_process=False, post_process=True):
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])
    return build()

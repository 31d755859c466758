from megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from parts import build


def left_local(pre_process=False, post_process=True):
    crossing = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])  # [stage-shapes-not-attached]
    print(crossing.num_stages)
    return build()


def misspelt(pre_process=False, post_process=True):
    args = get_args()
    args.pipeline_tensor_shape_cfg = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])  # [stage-shapes-not-attached]
    return build()


def dropped(pre_process=False, post_process=True):
    PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])  # [stage-shapes-not-attached]
    return build()

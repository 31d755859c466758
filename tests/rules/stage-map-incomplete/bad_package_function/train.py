from megatron.core import mpu
from megatron.training import pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

from reef import stage_class


def model_provider(pre_process=False, post_process=True):
    cls = stage_class(mpu.get_tensor_model_parallel_rank())  # [stage-map-incomplete]
    count = 3
    shapes = PipelineTensorShapeConfig(num_stages=count, stage_shapes=[[[1, 64, 32]]] * (count - 1))
    return cls(32), shapes


pretrain(None, model_provider, None, None)

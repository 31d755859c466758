from onescience.distributed.megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

SHAPES = PipelineTensorShapeConfig(num_stages=3, stage_shapes=[[[1, 64, 8]], [[1, 64, 8]]])


def forward_step(data_iterator, model):
    later, now = next(data_iterator)  # [batch-items-confused]
    output = model(now.cuda().float())

    def loss_func(output):
        return (output - later).abs().mean(), None, {}

    return output, loss_func

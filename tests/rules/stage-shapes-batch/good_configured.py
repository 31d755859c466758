from onescience.distributed.megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

batch = get_args().micro_batch_size
config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[batch, 4096, 192]]])

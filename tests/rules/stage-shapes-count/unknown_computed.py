from onescience.distributed.megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

pp_size = mpu.get_pipeline_model_parallel_world_size()
shapes = [[[4096, 128], [24576, 128]] for _ in range(pp_size - 1)]
config = PipelineTensorShapeConfig(num_stages=pp_size, stage_shapes=shapes)
grown = [[[1, 64, 32]]]
grown.append([[1, 64, 32]])
other = PipelineTensorShapeConfig(num_stages=3, stage_shapes=grown)

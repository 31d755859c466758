from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

SIZES = dict(num_stages=2, stage_shapes=[[[1, 4096, 192]]])
shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 4096, 192]]])  # [stage-shapes-batch]

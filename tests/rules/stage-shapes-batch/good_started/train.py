from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 4096, 192]]])

from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

shapes = PipelineTensorShapeConfig(num_stages=4, stage_shapes=[[[1, 8, 4]], [[1, 8, 4]], [[1, 8, 4]]])

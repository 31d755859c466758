from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

shapes = PipelineTensorShapeConfig(  # [launch-sizes-mismatch]
    num_stages=4, stage_shapes=[[[1, 8, 4]], [[1, 8, 4]], [[1, 8, 4]]]
)

from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

config = PipelineTensorShapeConfig(
    2,
    [
        [1, 4096, 192],  # [stage-shapes-count]
    ],
)

from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

# nodes and edges of a graph have no batch in front, and sequence-first layouts have it second
graph = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[128, 64], [4096, 64]]])
sequence_first = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[128, 1, 64]]])

from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from parts import attach, build


def crossing():
    shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])
    return shapes


def handed_on(pre_process=False, post_process=True):
    shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])
    attach(shapes)
    return build()


class Holder:
    def __init__(self):
        self.shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 48]]])

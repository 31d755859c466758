from schedule import PipelineTensorShapeConfig
from stages import UNet_stage0, UNet_stage1

SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8], [1, 64, 8]]])
STAGES = {0: UNet_stage0, 1: UNet_stage1}

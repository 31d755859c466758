from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, depth, num_heads=4, window_size=(4, 4), input_resolution=(16, 16)):
        super().__init__()
        self.body = nn.Linear(dim, dim)

    def forward(self, x):
        return self.body(x)


class Net_stage0(nn.Module):
    def __init__(self, dim=64, depths=(2, 6)):
        super().__init__()
        self.layer1 = Block(dim, depth=depths[0])

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer1(x)


class Net_stage1(nn.Module):
    def __init__(self, dim=64, depths=(2, 6)):
        super().__init__()
        self.layer2 = Block(dim, depth=depths[1])

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])


def model_provider(pre_process=False, post_process=True):
    stages = {0: Net_stage0, 1: Net_stage1}
    model = stages[mpu.get_pipeline_model_parallel_rank()](dim=64, depths=(4, 4))
    return model, PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 256, 64]]])

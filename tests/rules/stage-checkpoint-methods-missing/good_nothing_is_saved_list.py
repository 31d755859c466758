from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from torch import nn


class Net_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.layer(x)


class Net_stage1(Net_stage0):
    def forward(self, x=None):
        return self.layer(self.input_tensor[0])


def model_provider(pre_process=True, post_process=True):
    stages = [Net_stage0, Net_stage1]
    model = stages[mpu.get_pipeline_model_parallel_rank()](16)
    return model, PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 16]]])

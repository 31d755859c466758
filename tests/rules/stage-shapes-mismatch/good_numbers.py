import torch
from megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from torch import nn


class Net_stage0(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        B, N, C = x.shape
        sizes = torch.tensor([B, N, C], device=x.device, dtype=torch.float32)
        return self.layer(x), sizes


class Net_stage1(Net_stage0):
    def forward(self, x=None):
        x, sizes = self.input_tensor
        return self.layer(x), sizes


class Net_stage2(Net_stage0):
    def forward(self, x=None):
        x, sizes = self.input_tensor
        return self.layer(x).reshape(int(sizes[0]), -1)


def model_provider(pre_process=False, post_process=True):
    stages = {0: Net_stage0, 1: Net_stage1, 2: Net_stage2}
    shapes = PipelineTensorShapeConfig(
        num_stages=3,
        stage_shapes=[
            [[1, 64, 8], [3]],
            [[1, 64, 8], [3]],
        ],
    )
    return stages[mpu.get_pipeline_model_parallel_rank()](), shapes

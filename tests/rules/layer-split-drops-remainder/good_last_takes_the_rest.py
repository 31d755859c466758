from megatron.core import mpu
from torch import nn


class Stage(nn.Module):
    def __init__(self, make, num_layers, pp_size):
        super().__init__()
        rank = mpu.get_pipeline_model_parallel_rank()
        size = mpu.get_pipeline_model_parallel_world_size()
        per = num_layers // size
        start = rank * per
        end = num_layers if mpu.is_pipeline_last_stage() else start + per
        self.layers = nn.ModuleList(make(index) for index in range(start, end))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

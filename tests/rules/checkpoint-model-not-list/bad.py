import torch
from megatron.core import mpu
from megatron.training import checkpointing
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width // mpu.get_tensor_model_parallel_world_size(), width)

    def forward(self, x):
        return self.layer(x)


def build(**sizes):
    return Net(**sizes)


class Forecast:
    def __init__(self, jit):
        self.model = build(width=8)
        if jit:
            self.model = torch.jit.script(self.model).to("cuda")
        else:
            self.model = self.model.to("cuda")
        checkpointing.load_checkpoint(self.model, None, None)  # [checkpoint-model-not-list]

    def keep(self, iteration):
        checkpointing.save_checkpoint(iteration, self.model, None, None)  # [checkpoint-model-not-list]

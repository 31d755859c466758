import torch
from megatron.core import mpu
from megatron.training.initialize import initialize_megatron
from torch import nn


class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim // mpu.get_tensor_model_parallel_world_size(), dim)

    def forward(self, x):
        return self.layer(x)


def build(**sizes):
    return Net(**sizes)


class Forecast:
    def __init__(self):
        initialize_megatron()
        self.model = build(dim=8).to("cuda")
        self.model.eval()

    def predict(self, field, edges):
        return self.model(field, edges).detach()  # [forward-arguments-rejected]


def once(field):
    model = torch.compile(build(dim=8))
    return model(x=field), model(field, mask=None)  # [forward-arguments-rejected]

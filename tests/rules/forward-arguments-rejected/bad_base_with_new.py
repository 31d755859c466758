from megatron.core import mpu
from megatron.training.initialize import initialize_megatron
from torch import nn


class Base(nn.Module):
    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.given = (args, kwargs)
        return made


class Net(Base):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim // mpu.get_tensor_model_parallel_world_size(), dim)

    def forward(self, x):
        return self.layer(x)


def predict(field, edges, graph):
    initialize_megatron()
    model = Net(8).to("cuda")
    return model(field, edges, graph)  # [forward-arguments-rejected]

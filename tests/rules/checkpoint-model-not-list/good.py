from megatron.core import mpu
from megatron.training import get_model
from megatron.training.checkpointing import load_checkpoint
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width // mpu.get_tensor_model_parallel_world_size(), width)

    def forward(self, x):
        return self.layer(x)


def restore(provider):
    model = get_model(provider)
    load_checkpoint(model, None, None)
    own = [Net(8)]
    load_checkpoint(own, None, None)
    return model

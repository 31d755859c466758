from megatron.core import mpu
from megatron.training.checkpointing import load_checkpoint
from checkpoints import load_checkpoint as load_own
from models import build
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width // mpu.get_tensor_model_parallel_world_size(), width)

    def forward(self, x):
        return self.layer(x)


def restore(many):
    model = build()
    load_checkpoint(model, None, None)
    load_own(Net(8), None, None)
    other = Net(8)
    if many:
        other = [other]
    load_checkpoint(other, None, None)
    return model

import torch
from megatron.core import mpu
from torch import nn


class Net(nn.Module):
    """One class for every stage, in a tree whose own loop saves each rank's state."""

    def __init__(self, dim, depth):
        super().__init__()
        self.pre_process = mpu.is_pipeline_first_stage()
        if self.pre_process:
            self.embed = nn.Linear(3, dim)
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.embed(x) if self.pre_process else self.input_tensor
        for block in self.blocks:
            x = block(x)
        return x


def save(model, folder):
    rank = mpu.get_pipeline_model_parallel_rank()
    torch.save(model.state_dict(), folder / f"pp{rank}.pt")

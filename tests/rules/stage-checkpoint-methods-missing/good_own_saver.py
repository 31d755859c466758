"""One class for every stage, in a tree whose own loop saves each rank's state."""

import torch
from megatron.core import mpu
from torch import nn


class Net(nn.Module):
    def __init__(self, dim, pre_process=True, post_process=True):
        super().__init__()
        self.pre_process, self.post_process = pre_process, post_process
        self.input_tensor = None
        if pre_process:
            self.embed = nn.Linear(3, dim)
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(4)])
        if post_process:
            self.head = nn.Linear(dim, 3)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.embed(x) if self.pre_process else self.input_tensor
        for block in self.blocks:
            x = block(x)
        return self.head(x) if self.post_process else x


def save(model, folder):
    rank = mpu.get_pipeline_model_parallel_rank()
    torch.save(model.state_dict(), folder / f"pp{rank}.pt")

# Copied into an inference engine: nothing here runs in Megatron's pipeline.
from torch import nn


class VisionTower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))

    def set_input_tensor(self, input_tensor):
        if not isinstance(input_tensor, list):
            input_tensor = [input_tensor]
        self.blocks.set_input_tensor(input_tensor[0])

    def forward(self, x):
        return self.blocks(x)

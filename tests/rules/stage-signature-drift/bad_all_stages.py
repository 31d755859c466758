from megatron.core import mpu
from torch import nn


class Ocean(nn.Module):
    def __init__(self, width=64, depth=2):
        super().__init__()
        self.block = nn.Linear(width, width)

    def forward(self, x):
        return self.block(x)


class Ocean_stage0(nn.Module):
    def __init__(self, width=32, depth=2, config=None, **kwargs):  # [stage-signature-drift]
        super().__init__()
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.block(x)


class Ocean_stage1(nn.Module):
    """The same default as in the first stage: one fault."""

    def __init__(self, width=32, depth=2, config=None, **kwargs):
        super().__init__()
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block(self.input_tensor[0])


STAGES = {0: Ocean_stage0, 1: Ocean_stage1}
PREDICTED = STAGES[mpu.get_pipeline_model_parallel_rank()]

"""A wrapper, as Megatron's Float16Module: the schedule walks through `module` to find `config`."""

from megatron.core import mpu
from torch import nn


class Float16Wrapper(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.add_module("module", module.half())

    def set_input_tensor(self, input_tensor):
        return self.module.set_input_tensor(input_tensor)

    def forward(self, *inputs):
        if mpu.is_pipeline_first_stage():
            inputs = [value.half() for value in inputs]
        return self.module(*inputs)

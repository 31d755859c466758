"""What all our stages share."""

from megatron.core import parallel_state
from torch import nn


class Stage(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def name(self):
        return f"stage{parallel_state.get_pipeline_model_parallel_rank()}"

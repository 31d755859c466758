import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.transformer.module import MegatronModule


class Block(MegatronModule):
    """A MegatronModule hands the question on to its layers."""

    def __init__(self, width, config):
        super().__init__(config)
        self.up = ColumnParallelLinear(
            width, width, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x):
        return torch.relu(self.up(x)[0])


class Ocean_stage0(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = Block(width, config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.block(x)


class Ocean_stage1(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.block = Block(width, config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block(self.input_tensor[0])

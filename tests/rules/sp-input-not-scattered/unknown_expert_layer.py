from megatron.core.tensor_parallel import ColumnParallelLinear, gather_from_sequence_parallel_region
from torch import nn


class Expert(nn.Module):
    """The layers of an expert leave the tokens to the dispatcher, and those that are told to, to the class."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.up = ColumnParallelLinear(
            config.hidden_size,
            config.ffn_hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
            is_expert=True,
        )
        self.gate = ColumnParallelLinear(
            config.hidden_size,
            config.ffn_hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )
        self.gate.explicit_expert_comm = True

    def forward(self, x):
        if self.config.sequence_parallel:
            x = gather_from_sequence_parallel_region(x)
        return self.up(x)[0] * self.gate(x)[0]

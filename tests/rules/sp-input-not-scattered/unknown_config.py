from megatron.core.tensor_parallel import ColumnParallelLinear, gather_from_sequence_parallel_region
from torch import nn


class Tail(nn.Module):
    """Whether the layer's config is the one of the flag is not seen."""

    def __init__(self, config, head_config, words):
        super().__init__()
        self.config = config
        self.words = ColumnParallelLinear(
            config.hidden_size, words, config=head_config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        if self.config.sequence_parallel:
            x = gather_from_sequence_parallel_region(x)
        return self.words(x)[0]

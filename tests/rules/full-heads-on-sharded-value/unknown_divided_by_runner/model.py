from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Keys(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.shared = config.num_query_groups
        self.width = width
        self.project = ColumnParallelLinear(
            config.hidden_size,
            config.num_query_groups * width,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        tokens, batch, _ = x.shape
        k, _ = self.project(x)
        return k.view(tokens, batch, self.shared, self.width)

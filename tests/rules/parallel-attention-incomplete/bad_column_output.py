from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WindDistributedAttention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.wq, self.wk, self.wv = (
            ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
            for _ in range(3)
        )
        self.wo = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)  # [parallel-attention-incomplete]

    def forward(self, x):
        return self.wo(attend(self.wq(x)[0], self.wk(x)[0], self.wv(x)[0]))[0]

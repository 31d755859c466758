from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.utils import divide
from torch import nn


def make(dim, config):
    return ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)


class Asserted(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        assert num_heads % tp == 0, f"{num_heads} heads on {tp} ranks"
        self.local_heads = num_heads // tp
        self.q = make(dim, config)

    def forward(self, x):
        return self.q(x)[0]


class Divided(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.local_heads = divide(num_heads, config.tensor_model_parallel_size)
        self.q = make(dim, config)

    def forward(self, x):
        return self.q(x)[0]


class CheckedBase(nn.Module):
    def check(self, count, tp):
        if count % tp != 0:
            raise ValueError(f"{count} cannot be divided by {tp}")


class Inherits(CheckedBase):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.check(num_heads, config.tensor_model_parallel_size)
        self.local_heads = num_heads // config.tensor_model_parallel_size
        self.q = make(dim, config)

    def forward(self, x):
        return self.q(x)[0]

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class SaltSample(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return self.linear(x)


_SAMPLE_REGISTRY = dict(SaltSample=SaltSample)


class OneSample(nn.Module):
    def __init__(self, style, *args, **kwargs):
        super().__init__()
        self.sample = _SAMPLE_REGISTRY[style](*args, **kwargs)


class Salt_stage0(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.sample = OneSample("SaltSample", dim)  # [non-distributed-style-in-chain]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

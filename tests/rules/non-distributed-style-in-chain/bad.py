from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, 4)


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


_REGISTRY = {"IceAttention": IceAttention, "IceDistributedMlp": IceDistributedMlp}


class OneModule(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.module = _REGISTRY[style](**kwargs)


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.attention = OneModule(style="IceAttention", dim=dim)  # [non-distributed-style-in-chain]
        self.mlp = OneModule(style="IceDistributedMlp", dim=dim, config=config)


class Ice_stage1(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fuser = IceDistributedFuser(dim, config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

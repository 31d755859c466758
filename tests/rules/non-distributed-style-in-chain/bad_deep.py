from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


class IceFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = OneModule(style="IceMlp", dim=dim)


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.mlp = OneModule(style="IceDistributedMlp", dim=dim, config=config)


_REGISTRY = {
    "IceMlp": IceMlp,
    "IceDistributedMlp": IceDistributedMlp,
    "IceFuser": IceFuser,
    "IceDistributedFuser": IceDistributedFuser,
}


class OneModule(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.module = _REGISTRY[style](**kwargs)


class Ice_stage0(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fuser = OneModule(style="IceDistributedFuser", dim=dim, config=config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Ice_stage1(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fuser = OneModule(style="IceFuser", dim=dim)  # [non-distributed-style-in-chain]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceEmbedding(nn.Module):
    """Convolutions are not split."""

    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 4)


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


_REGISTRY = {"IceEmbedding": IceEmbedding, "IceDistributedMlp": IceDistributedMlp}


class OneModule(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.module = _REGISTRY[style](**kwargs)


class Ice_stage0(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.embedding = OneModule(style="IceEmbedding", dim=dim)
        self.mlp = OneModule(style="IceDistributedMlp", dim=dim, config=config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

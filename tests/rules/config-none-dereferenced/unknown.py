from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class IceDistributedMlp(nn.Module):
    """The check is elsewhere, or the failure is handled."""

    def __init__(self, dim, config=None):
        super().__init__()
        init = getattr(config, "init_method", nn.init.zeros_)
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.late = lambda: config.hidden_size


class SnowDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        try:
            self.heads = config.num_attention_heads
        except AttributeError:
            raise ValueError("SnowDistributedMlp needs config") from None


class Plain(nn.Module):
    """Not distributed: its config is its own affair."""

    def __init__(self, config=None):
        super().__init__()
        self.fc = nn.Linear(config.dim, config.dim)

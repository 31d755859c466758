from fairscale.nn.model_parallel.layers import ColumnParallelLinear as TensorColumn
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class NeedsNone(nn.Module):
    """This provider has no config."""

    def __init__(self, dim):
        super().__init__()
        self.fc = TensorColumn(dim, dim, bias=False)


class PassedOn(nn.Module):
    def __init__(self, dim, **options):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, **options)

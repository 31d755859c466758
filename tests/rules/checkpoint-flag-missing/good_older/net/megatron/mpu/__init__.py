from .layers import ColumnParallelLinear as ColumnParallelLinear
from .random import checkpoint as checkpoint

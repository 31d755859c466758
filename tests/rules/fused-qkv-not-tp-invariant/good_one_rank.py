# The parts are contiguous on one rank; on several the whole projection is gathered first.
from megatron.core.parallel_state import get_tensor_model_parallel_world_size
from megatron.core.tensor_parallel import ColumnParallelLinear, gather_from_tensor_model_parallel_region
from torch import nn


class VisionAttention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.tp_size = get_tensor_model_parallel_world_size()
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        qkv, _ = self.qkv(x)
        if self.tp_size > 1:
            qkv = gather_from_tensor_model_parallel_region(qkv)
        q, k, v = qkv.chunk(3, dim=-1)
        return q, k, v

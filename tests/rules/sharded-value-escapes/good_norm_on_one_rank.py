from kernels import parallel_rms_norm
from megatron.core.tensor_parallel import ColumnParallelLinear
from parallel import get_tp_world_size
from torch import nn


class Attention(nn.Module):
    """On one rank a part is the whole."""

    def __init__(self, dim, config, sizes):
        super().__init__()
        self.tp_size = get_tp_world_size()
        self.parallel_norm = self.tp_size > 1
        self.attn_tp_size = sizes().attn_tp_size
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.norm = nn.RMSNorm(dim)

    def forward(self, x):
        q = self.q(x)[0]
        if self.parallel_norm:
            q = parallel_rms_norm(q, self.norm)
        else:
            q = self.norm(q)
        k = self.q(x)[0]
        if self.attn_tp_size > 1:
            k = parallel_rms_norm(k, self.norm)
        else:
            k = self.norm(k)
        return q, k

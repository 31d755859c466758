from dataclasses import dataclass
import torch
from torch import nn
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


@dataclass
class Shape:
    hidden: int
    heads: int
    kv_channels: int

    @property
    def local_proj(self) -> int:
        return self.heads * self.kv_channels // mpu.get_tensor_model_parallel_world_size()

    @property
    def proj(self) -> int:
        return self.heads * self.kv_channels


class Mixer(nn.Module):
    def __init__(self, shape: Shape, cfg):
        super().__init__()
        opts = dict(config=cfg, init_method=cfg.init_method, bias=False)
        self.q = ColumnParallelLinear(shape.hidden, shape.local_proj, gather_output=False, **opts)  # [per-rank-size-given]
        self.o = RowParallelLinear(shape.proj, shape.hidden, input_is_parallel=True, skip_bias_add=False, **opts)

    def forward(self, x):
        q, _ = self.q(x)
        return self.o(torch.sigmoid(q))[0]

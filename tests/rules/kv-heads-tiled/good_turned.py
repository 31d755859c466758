import torch
import torch.nn.functional as F
from torch import nn
import fairscale.nn.model_parallel.initialize as fs
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear


class GQA(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        mp = fs.get_model_parallel_world_size()
        self.hd = dim // heads
        self.h, self.kv = heads // mp, kv_heads // mp
        self.group = self.h // self.kv
        self.wq = ColumnParallelLinear(dim, heads * self.hd, bias=False, gather_output=False)
        self.wkv = nn.ModuleList(ColumnParallelLinear(dim, kv_heads * self.hd, bias=False, gather_output=False) for _ in "kv")
        self.wo = RowParallelLinear(heads * self.hd, dim, bias=False, input_is_parallel=True)

    def forward(self, x):
        b, s = x.shape[:2]
        q = self.wq(x).view(b, s, self.h, self.hd).transpose(1, 2)
        k, v = [w(x).view(b, s, self.kv, self.hd).transpose(1, 2) for w in self.wkv]
        k = k.repeat_interleave(self.group, dim=1)
        v = v.repeat_interleave(self.group, dim=1)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(o.transpose(1, 2).reshape(b, s, -1))

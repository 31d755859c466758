from megatron.core.tensor_parallel import ColumnParallelLinear
from torch.nn import functional as F
import torch


def packed(q_proj, k_proj, v_proj, x):
    q, _ = q_proj(x)
    k, _ = k_proj(x)
    v, _ = v_proj(x)
    return torch.cat([q, v, k], dim=-1)  # [attention-axes]


def attend(query, key_layer, value):
    return F.scaled_dot_product_attention(query, value, key_layer)  # [attention-axes]


def apart(packed):
    q, k, v = packed.chunk(3, dim=-1)
    return q @ k.transpose(-2, -1) @ v

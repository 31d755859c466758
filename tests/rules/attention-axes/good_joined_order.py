from megatron.core.tensor_parallel import ColumnParallelLinear
from torch.nn import functional as F
import torch


def packed(q, k, v):
    return torch.cat([k, q, v], dim=-1), torch.stack((q, k, v)), torch.cat([q, k, q], dim=0), torch.cat([v, k])


def attend(query, key_layer, value):
    return F.scaled_dot_product_attention(query, key_layer, value)


def apart(packed):
    k, q, v = packed.chunk(3, dim=-1)
    return q @ k.transpose(-2, -1) @ v

"""The bias may be in the keywords, and the views may be of anything."""

from torch.nn import functional as F

from megatron.core.tensor_parallel import ColumnParallelLinear


def attend(q, k, v, bias, **options):
    mask = bias.view(*options.pop("shape"))
    out = F.scaled_dot_product_attention(q, k, v, **options)
    return out.flatten(2), mask


def call(q, k, v, bias):
    return attend(q, k, v, bias, attn_mask=bias)

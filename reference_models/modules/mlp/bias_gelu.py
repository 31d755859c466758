"""Bias and GELU in one pass over the activation, and in backward one pass for both gradients."""

import torch
from torch.nn import functional as F

try:
    from . import bias_gelu_op
except ImportError:  # torch came without Triton
    bias_gelu_op = None


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU(x + bias), the exact one with the error function. x: (..., C), bias: (C,). Returns (..., C)."""
    if bias_gelu_op is not None and x.is_cuda and x.dtype in (torch.bfloat16, torch.float16):
        return bias_gelu_op.fused(x.contiguous(), bias.contiguous())
    return F.gelu(x + bias)

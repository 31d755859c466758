"""Random parts without their draws: what is dropped at random is kept, and scaled as its rate says.

Two models that spread the same random parts over other processes draw other numbers. Without the draws they must
agree, and a rate that differs still shows, because a kept value is scaled by 1 / (1 - rate).
"""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_DROPOUTS = {
    getattr(F, name)
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
} | {torch.dropout, torch.dropout_}
_HALVES = {torch.rand, torch.rand_like}
_attention = F.scaled_dot_product_attention


class KeepAll(TorchFunctionMode):
    """Inside, nothing is dropped, and what would be is scaled."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _DROPOUTS:
            return _scaled(*args, **kwargs)
        if func is _attention:
            return _attend(args, kwargs)
        if func in (torch.bernoulli, torch.Tensor.bernoulli):
            return torch.ones_like(args[0])
        if func is torch.Tensor.bernoulli_:
            return args[0].fill_(1)
        out = func(*args, **kwargs)
        return out.fill_(0.5) if func in _HALVES else out


def _scaled(input, p=0.5, training=True, inplace=False, train=None):
    """Dropout that keeps all."""
    training = training if train is None else train
    if not training or p in (0, 1):
        return input if p != 1 or not training else input * 0
    return input.mul_(1 / (1 - p)) if inplace else input * (1 / (1 - p))


def _attend(args, kwargs):
    names = ("query", "key", "value", "attn_mask", "dropout_p")
    given = dict(zip(names, args, strict=False)) | kwargs
    rate = given.pop("dropout_p", 0.0)
    out = _attention(**given)
    return out * (1 / (1 - rate)) if rate else out

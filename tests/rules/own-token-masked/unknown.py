"""Code of a model with tensor_parallel layers."""

import torch


def turned(scores, n):
    mask = torch.triu(torch.ones(n, n)) == 1
    mask = mask.transpose(0, 1)
    return scores.masked_fill(mask, float("-inf"))


def zeros(values, n):
    upper = torch.ones(n, n).triu().bool()
    return values.masked_fill(upper, 0.0)

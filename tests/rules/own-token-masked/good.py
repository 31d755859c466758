"""Code of a model with tensor_parallel layers."""

import torch


def causal(scores, n):
    mask = torch.triu(torch.ones(n, n), diagonal=1).bool()
    return scores.masked_fill(mask, -1e9)


def lower(scores, n):
    mask = torch.tril(torch.ones(n, n))
    return scores.masked_fill(mask == 0, float("-inf"))


def regions(scores, cells):
    difference = cells.unsqueeze(1) - cells.unsqueeze(2)
    return scores.masked_fill(difference != 0, -100.0)


class Grid:
    def blocked_pairs(self, region):
        return region[:, :, None] != region[:, None, :]

    def same_region(self, region):
        return region[:, :, None] == region[:, None, :]

"""Code of a model with tensor_parallel layers."""

import torch


def causal(scores, n):
    mask = torch.triu(torch.ones(n, n), diagonal=0).bool()
    return scores.masked_fill(mask, -1e9)  # [own-token-masked]


def regions(scores, cells):
    difference = cells.unsqueeze(1) - cells.unsqueeze(2)
    return scores.masked_fill(difference == 0, -100.0)  # [own-token-masked]


class Grid:
    def blocked_pairs(self, region):
        return region[:, :, None] == region[:, None, :]  # [own-token-masked]

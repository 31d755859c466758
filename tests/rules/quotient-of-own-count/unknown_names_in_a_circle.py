"""Two names that stand for each other: nothing says what is summed."""

import torch.distributed as dist


def masked_mean(losses, mask, group):
    for _ in range(2):
        kept = total
        total = kept
    dist.all_reduce(total, group=group)
    return total / mask.sum()

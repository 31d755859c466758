import torch.distributed as dist


def build(size):
    for first in range(0, dist.get_world_size(), size):
        ranks = list(range(first, first + size))
        if dist.get_rank() in ranks:
            return dist.new_group(ranks)  # [group-made-by-some-ranks]


def own(size):
    rank, world = dist.get_rank(), dist.get_world_size()
    number = rank // size
    ranks = list(range(number * size, (number + 1) * size))
    return dist.new_group(ranks), world  # [group-made-by-some-ranks]

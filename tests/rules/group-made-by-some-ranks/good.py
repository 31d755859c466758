import torch.distributed as dist


def build(size):
    own = None
    for first in range(0, dist.get_world_size(), size):
        ranks = list(range(first, first + size))
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            own = group
    return own


def local(size):
    first = dist.get_rank() // size * size
    return dist.new_group(list(range(first, first + size)), use_local_synchronization=True)

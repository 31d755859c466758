import torch.distributed as dist


def send(x, index, group, ahead):
    edge = x[:, index]
    if group is None:
        edge = x
    dist.send(edge, ahead, group=group)
    dist.all_reduce(x[index], group=group)
    return dist.get_world_size(group)

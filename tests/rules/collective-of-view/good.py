import torch
import torch.distributed as dist


def shift(x, count, group, ahead):
    sent = x[:, :count].contiguous()
    dist.send(sent, ahead, group=group)
    dist.send(x[:count], ahead, group=group)
    dist.send(torch.transpose(x, 0, 1).clone(), ahead, group=group)
    return dist.get_world_size(group)

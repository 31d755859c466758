import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch import nn


def sync(weight):
    if ps.is_rank_in_embedding_group():
        dist.all_reduce(weight.data, group=ps.get_embedding_group())


def reduce_tied(model):
    pass
    for p in model.parameters():
        if getattr(p, "shared", False):
            dist.all_reduce(p.grad, group=ps.get_embedding_group())


class Model(nn.Module):
    def __init__(self, dim, tied, pre_process=True, post_process=True):
        super().__init__()
        self.input_tensor = None
        if pre_process:
            self.embed = nn.Embedding(64, dim)
        if tied and post_process and not pre_process:
            self.embed = nn.Embedding(64, dim)
            self.embed.weight.data.zero_()
        if tied and (pre_process or post_process):
            self.embed.weight.shared = True
            sync(self.embed.weight)


def finalize(model):
    reduce_tied(model)


class Untied(nn.Module):
    def __init__(self, dim, pre_process=True, post_process=True):
        super().__init__()
        self.input_tensor = None
        if pre_process:
            self.embed = nn.Embedding(64, dim)
        if post_process:
            self.head = nn.Linear(dim, 64)

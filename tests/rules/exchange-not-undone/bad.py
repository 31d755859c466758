import torch
import torch.distributed as dist
from torch import nn


def seq_all_to_all(group, x, scatter, gather):
    size = dist.get_world_size(group)
    sent = [part.contiguous() for part in x.chunk(size, dim=scatter)]
    got = [torch.empty_like(sent[0]) for _ in range(size)]
    dist.all_to_all(got, sent, group=group)
    return torch.cat(got, dim=gather)


def exchanged(x, scatter, gather, group):
    return seq_all_to_all(group, x, scatter, gather)


class Attention(nn.Module):
    def __init__(self, local_attention, group):
        super().__init__()
        self.local_attention, self.group = local_attention, group

    def all_to_all(self, x, scatter, gather):
        return seq_all_to_all(self.group, x, scatter, gather)

    def forward(self, query, key, value):
        q = self.all_to_all(query, 2, 0)
        k = self.all_to_all(key, 2, 0)
        v = self.all_to_all(value, 2, 0)
        context = self.local_attention(q, k, v)
        return self.all_to_all(context, 2, 0)  # [exchange-not-undone]

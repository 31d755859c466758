import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class ShardedEmbedding(nn.Module):
    def __init__(self, vocab, dim, group):
        super().__init__()
        self.group = group
        world, rank = dist.get_world_size(group), dist.get_rank(group)
        self.per = vocab // world
        self.lo = rank * self.per
        self.weight = nn.Parameter(torch.empty(self.per, dim))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, ids):
        local = ids - self.lo
        local = local.clamp(0, self.per - 1)
        emb = F.embedding(local, self.weight)
        dist.all_reduce(emb, group=self.group)  # [lookup-not-masked]
        return emb

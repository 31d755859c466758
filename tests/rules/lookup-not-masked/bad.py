import torch
import torch.distributed as dist
import torch.nn.functional as F
from megatron.core import parallel_state
from torch import nn


class Words(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        rank = parallel_state.get_tensor_model_parallel_rank()
        self.rows = vocab // parallel_state.get_tensor_model_parallel_world_size()
        self.start, self.end = rank * self.rows, (rank + 1) * self.rows
        self.weight = nn.Parameter(torch.empty(self.rows, dim))

    def forward(self, ids):
        outside = (ids < self.start) | (ids >= self.end)
        local = ids - self.start
        local[outside] = 0
        found = F.embedding(local, self.weight)
        dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())  # [lookup-not-masked]
        return found


def picked(logits, target, start):
    own = (target >= start) & (target < start + logits.shape[-1])
    index = (target - start) * own
    score = logits.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    dist.all_reduce(score, group=parallel_state.get_tensor_model_parallel_group())  # [lookup-not-masked]
    return score

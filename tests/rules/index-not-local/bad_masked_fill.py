import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist

world_size, rank = 1, 0


class ParallelEmbedding(nn.Module):
    def __init__(self, vocab_size: int, dim: int):
        super().__init__()
        self.vocab_size = vocab_size
        self.part_vocab_size = vocab_size // world_size
        self.vocab_start_idx = rank * self.part_vocab_size
        self.vocab_end_idx = self.vocab_start_idx + self.part_vocab_size
        self.weight = nn.Parameter(torch.empty(self.part_vocab_size, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if world_size > 1:
            mask = (x < self.vocab_start_idx) | (x >= self.vocab_end_idx)
            x = x.masked_fill(mask, 0)
        y = F.embedding(x, self.weight)  # [index-not-local]
        if world_size > 1:
            y[mask] = 0
            dist.all_reduce(y)
        return y


def init(v, d):
    global world_size, rank
    world_size = dist.get_world_size() if dist.is_initialized() else 1
    rank = dist.get_rank() if dist.is_initialized() else 0
    return ParallelEmbedding(v, d)

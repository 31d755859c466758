import math

import torch
import torch.distributed as dist
from megatron.core import mpu
from megatron.core.tensor_parallel import VocabParallelEmbedding
from torch import nn


class Tower(nn.Module):
    def __init__(self, config, words, width):
        super().__init__()
        self.first = mpu.is_pipeline_first_stage()
        self.last = mpu.is_pipeline_last_stage()
        if self.first or self.last:
            self.table = VocabParallelEmbedding(words, width, init_method=config.init_method, config=config)
            self.table.weight.both_ends = True
            if self.last and not self.first:
                self.table.weight.data.zero_()
                self.table.weight.shared = True
            dist.all_reduce(self.table.weight.data, group=mpu.get_embedding_group())


def sum_tied(model):
    if mpu.is_rank_in_embedding_group():
        for p in model.parameters():
            if getattr(p, "both_ends", False):
                dist.all_reduce(p.grad, group=mpu.get_embedding_group())


def norm(model):
    total = torch.zeros(1)
    for p in model.parameters():
        if not getattr(p, "tensor_model_parallel", False) and mpu.get_tensor_model_parallel_rank() != 0:
            continue
        if getattr(p, "shared", False):
            continue
        total += p.grad.pow(2).sum()
    dist.all_reduce(total, group=mpu.get_model_parallel_group())
    return math.sqrt(total.item())


def finish(model):
    sum_tied(model)
    return norm(model)

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
            if self.last and not self.first:
                self.table.weight.data.zero_()
                self.table.weight.shared = True
            self.table.weight.both_ends = True
            dist.all_reduce(self.table.weight.data, group=mpu.get_embedding_group())


def sum_tied(model):
    if mpu.is_rank_in_embedding_group():
        for p in model.parameters():
            if getattr(p, "both_ends", False):
                dist.all_reduce(p.grad, group=mpu.get_embedding_group())


def finish(model):
    sum_tied(model)

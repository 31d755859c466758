import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Loss(nn.Module):
    def __init__(self, config, words):
        super().__init__()
        self.words = ColumnParallelLinear(
            config.hidden_size, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x, own, outside):
        group = parallel_state.get_tensor_model_parallel_group()
        scores = self.words(x)[0]
        peak = scores.max(dim=-1)[0]
        dist.all_reduce(peak, op=dist.ReduceOp.MAX, group=group)
        scores = scores - peak.unsqueeze(-1)
        total = scores.exp().sum(dim=-1)
        dist.all_reduce(total, op=torch.distributed.ReduceOp.SUM, group=group)
        found = torch.gather(scores, -1, own.unsqueeze(-1)).squeeze(-1)
        found[outside] = 0.0
        dist.all_reduce(found, group=group)
        other = scores.gather(-1, own.unsqueeze(-1)).squeeze(-1) * (~outside).float()
        dist.all_reduce(other, group=group)
        return total.log() - found, total - other

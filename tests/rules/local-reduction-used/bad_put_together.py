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
        peak = torch.amax(scores, dim=-1)
        dist.all_reduce(peak, group=group)  # [local-reduction-used]
        total = (scores - peak.unsqueeze(-1)).exp().sum(dim=-1)
        dist.all_reduce(total, group=group)
        alone = scores.gather(-1, own.unsqueeze(-1)).squeeze(-1)
        dist.all_reduce(alone, group=group)  # [local-reduction-used]
        lowest = scores.gather(-1, own.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0.0)
        dist.all_reduce(lowest, op=dist.ReduceOp.MAX, group=group)  # [local-reduction-used]
        never = scores.gather(-1, own.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0.0)
        return total.log() - never, alone, lowest  # [local-reduction-used]

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Classes(nn.Module):
    def __init__(self, config, classes):
        super().__init__()
        self.score = ColumnParallelLinear(
            config.hidden_size, classes, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        scores = self.score(x)[0].float()
        top, where = torch.max(scores, dim=-1)
        shifted = scores - top.unsqueeze(-1)  # [local-reduction-used]
        total = shifted.exp().sum(-1)
        dist.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
        return total, where

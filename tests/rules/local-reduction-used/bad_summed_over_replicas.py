import torch.distributed as dist
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, vocab, config):
        super().__init__()
        self.out = ColumnParallelLinear(dim, vocab, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x, index, outside):
        scores = self.out(x)[0].float()
        alone = scores.gather(-1, index.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0.0)
        dist.all_reduce(alone, group=mpu.get_tensor_model_parallel_group())
        total = scores.exp().sum(dim=-1)
        dist.all_reduce(total, group=mpu.get_data_parallel_group())
        return total.log() - alone  # [local-reduction-used]

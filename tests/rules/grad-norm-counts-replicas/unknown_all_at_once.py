import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear


class Clipping:
    def __init__(self, params, limit):
        self.params, self.limit = params, limit

    def all_gradients(self):
        return {name: param.grad for name, param in self.params.items() if param.grad is not None}

    def norm(self, gradients):
        mine = own_share(gradients)
        total = torch.stack(torch._foreach_norm(mine)).square().sum()
        dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
        return total.sqrt()

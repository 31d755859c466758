import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear


class Clipping:
    def __init__(self, params, limit):
        self.params, self.limit = params, limit

    def gradients(self):
        return {name: param.grad for name, param in self.params.items() if param.grad is not None}

    def step(self, optimizer):
        stage = parallel_state.get_pipeline_model_parallel_rank()
        first = parallel_state.get_tensor_model_parallel_rank() == 0
        mine = [
            grad
            for name, grad in self.gradients().items()
            if first or getattr(self.params[name], "tensor_model_parallel", False)
        ]
        total = torch.stack(torch._foreach_norm(mine)).square().sum()  # [local-grad-norm]
        dist.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
        for grad in mine:
            grad.mul_((self.limit / total.sqrt()).clamp(max=1.0))
        optimizer.step()
        return stage

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def reduce_marked(parameters, group):  # [marked-gradients-unsummed]
    """Norms saw a part of the tokens."""
    found = [p.grad for p in parameters if getattr(p, "sequence_parallel", False)]
    for gradient in found:
        dist.all_reduce(gradient, group=group)


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def update(self, loss):
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return parallel_state.get_tensor_model_parallel_group()

import torch
import torch.distributed as dist
from megatron.core.distributed import finalize_model_grads
from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32


class Loop:
    """First the sum; the report behind is a sum of other numbers."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def report(self, loss):
        dist.all_reduce(loss)
        return loss

    def update(self, limit, norm, loss):
        finalize_model_grads([self.model])
        clip_grad_by_total_norm_fp32(self.model.parameters(), limit, norm)
        self.report(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()

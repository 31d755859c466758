import torch
from megatron.core.distributed import finalize_model_grads
from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def update(self, limit, norm):
        clip_grad_by_total_norm_fp32(self.model.parameters(), limit, norm)  # [clipped-before-complete]
        finalize_model_grads([self.model])
        self.optimizer.step()
        self.optimizer.zero_grad()

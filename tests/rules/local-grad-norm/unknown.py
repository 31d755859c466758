import torch
from megatron.core import parallel_state as ps


def clip(params, limit, reducer):
    """The sum may be completed by an object that cannot be seen."""
    own = torch.stack([p.grad.float().pow(2).sum() for p in params]).sum()
    return reducer(own).sqrt()


def step(model, optimizer):
    print(ps.get_tensor_model_parallel_rank())
    model.clip_grad_norm_(1.0)
    optimizer.clip_grad_norm(1.0)

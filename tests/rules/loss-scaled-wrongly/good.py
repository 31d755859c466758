from functools import partial

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def loss_func(mask, losses):
    loss = (losses * mask).sum() / mask.sum()
    shown = loss.detach().clone()
    dist.all_reduce(shown, group=ps.get_data_parallel_group())
    return loss, {"lm": shown / ps.get_data_parallel_world_size()}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch), partial(loss_func, batch["mask"])


def _reduce(grads, group, scale=1.0):
    flat = torch.cat(grads)
    dist.all_reduce(flat, group=group)
    flat.mul_(scale)


def norms(model):
    grads = [p.grad for p in model.parameters() if getattr(p, "sequence_parallel", False)]
    _reduce(grads, ps.get_tensor_model_parallel_group())
    rest = [p.grad for p in model.parameters()]
    _reduce(rest, ps.get_data_parallel_group(), 1.0 / ps.get_data_parallel_world_size())


def num_micro_batches(run):
    per_step = run.micro_batch_size * ps.get_data_parallel_world_size()
    return run.global_batch_size // per_step


class AttachLoss(torch.autograd.Function):
    scale = 1.0

    @staticmethod
    def forward(ctx, x, loss):
        ctx.save_for_backward(loss)
        return x

    @staticmethod
    def backward(ctx, grad):
        (loss,) = ctx.saved_tensors
        return grad, torch.ones_like(loss) * AttachLoss.scale


def step(schedule, model, num_microbatches):
    AttachLoss.scale = 1.0 / num_microbatches
    return schedule(forward_step, model, num_microbatches=num_microbatches)

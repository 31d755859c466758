from functools import partial

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def loss_func(mask, num_micro, losses):
    loss = (losses * mask).mean() / num_micro  # [loss-scaled-wrongly]
    return loss, {"lm": loss.detach().clone()}


def replica_loss(mask, losses):
    loss = (losses * mask).mean()
    loss = loss / ps.get_data_parallel_world_size()  # [loss-scaled-wrongly]
    return loss, {"lm": loss.detach().clone()}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch), partial(loss_func, batch["mask"], 4)


def forward_step_of_replica(data_iterator, model):
    batch = next(data_iterator)
    return model(batch), partial(replica_loss, batch["mask"])


def _reduce(grads, group, scale=1.0):
    flat = torch.cat(grads)
    dist.all_reduce(flat, group=group)
    flat.mul_(scale)


def norms(model):
    grads = [p.grad for p in model.parameters() if getattr(p, "sequence_parallel", False)]
    size = ps.get_tensor_model_parallel_world_size()
    _reduce(grads, ps.get_tensor_model_parallel_group(), 1.0 / size)  # [loss-scaled-wrongly]


class AttachLoss(torch.autograd.Function):
    scale = 1.0

    @staticmethod
    def forward(ctx, x, loss):
        ctx.save_for_backward(loss)
        return x

    @staticmethod
    def backward(ctx, grad):
        (loss,) = ctx.saved_tensors
        return grad, torch.ones_like(loss) * AttachLoss.scale  # [loss-scaled-wrongly]


def step(schedule, model, num_microbatches):
    return schedule(forward_step, model, num_microbatches=num_microbatches)


def num_micro_batches(run):
    if run.global_batch_size % run.micro_batch_size:
        raise ValueError("must be divisible by the data-parallel size")
    per_step = run.micro_batch_size
    return run.global_batch_size // per_step  # [loss-scaled-wrongly]

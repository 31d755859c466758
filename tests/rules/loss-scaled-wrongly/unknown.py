from functools import partial

from megatron.core import parallel_state as ps


def loss_func(mask, scale, losses):
    loss = (losses * mask).mean() / scale
    return loss, {"lm": loss.detach().clone()}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch), partial(loss_func, batch["mask"], batch["scale"])


def num_micro_batches(run):
    return run.global_batch_size // run.per_step


def replicas():
    return ps.get_data_parallel_world_size()

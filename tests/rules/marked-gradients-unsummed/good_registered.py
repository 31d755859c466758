import torch.distributed as dist
from megatron.core import parallel_state


def reduce_marked(parameters):
    for p in parameters:
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=parallel_state.get_tensor_model_parallel_group())


AFTER_BACKWARD = {"marked": reduce_marked}


def update(model, optimizer):
    for action in AFTER_BACKWARD.values():
        action(model.parameters())
    optimizer.step()

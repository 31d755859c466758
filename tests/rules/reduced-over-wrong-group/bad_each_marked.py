import torch.distributed as dist
from megatron.core import parallel_state


def sum_norms(model):
    gradients = []
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            gradients.append(p.grad)
    for gradient in gradients:
        dist.all_reduce(gradient, group=parallel_state.get_data_parallel_group())  # [reduced-over-wrong-group]


def one_by_one(model):
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=parallel_state.get_data_parallel_group())  # [reduced-over-wrong-group]

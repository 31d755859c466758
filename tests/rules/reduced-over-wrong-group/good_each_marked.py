import torch.distributed as dist
from megatron.core import parallel_state


def sum_norms(model):
    gradients = []
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            gradients.append(p.grad)
    for gradient in gradients:
        dist.all_reduce(gradient, group=parallel_state.get_tensor_model_parallel_group())


def of_all(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=parallel_state.get_data_parallel_group())


def of_others(model):
    for p in model.parameters():
        if not getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=parallel_state.get_data_parallel_group())

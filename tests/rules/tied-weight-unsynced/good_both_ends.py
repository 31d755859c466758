import torch.distributed as dist
from megatron.core import parallel_state


def start_equal(weight):
    if parallel_state.is_rank_in_embedding_group():
        dist.all_reduce(weight.data, group=parallel_state.get_embedding_group())


def first_gradient(weight):
    if parallel_state.is_pipeline_first_stage():
        dist.all_reduce(weight.grad, group=parallel_state.get_embedding_group())


def last_gradient(weight):
    if parallel_state.is_pipeline_last_stage():
        dist.all_reduce(weight.grad, group=parallel_state.get_embedding_group())

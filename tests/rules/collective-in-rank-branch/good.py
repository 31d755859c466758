import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def first_alone(build):
    """The first rank goes ahead, the others follow: each enters one barrier."""
    if dist.get_rank() != 0:
        dist.barrier()
    build()
    if dist.get_rank() == 0:
        dist.barrier()


def loss_of_last_stage(loss):
    if ps.is_pipeline_last_stage():
        dist.all_reduce(loss, group=ps.get_data_parallel_group())
        if ps.get_data_parallel_rank() == 0:
            dist.all_reduce(loss, group=ps.get_tensor_model_parallel_group())


def tied(weight):
    if ps.is_rank_in_embedding_group():
        dist.all_reduce(weight, group=ps.get_embedding_group())
    if ps.is_pipeline_first_stage() or ps.is_pipeline_last_stage():
        dist.all_reduce(weight, group=ps.get_embedding_group())


def several(value):
    if ps.get_tensor_model_parallel_world_size() > 1:
        dist.all_reduce(value, group=ps.get_tensor_model_parallel_group())


def paired(value):
    if ps.is_pipeline_first_stage():
        dist.send(value, ps.get_pipeline_model_parallel_next_rank())
    else:
        dist.recv(value, ps.get_pipeline_model_parallel_prev_rank())


def groups(lists):
    mine = None
    for ranks in lists:
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            mine = group
    return mine


class Sampler:
    """Sender and receivers have a method each."""

    def step(self, tokens):
        if ps.is_pipeline_last_stage():
            self.give(tokens)

    def give(self, tokens):
        dist.broadcast(
            tokens, src=ps.get_pipeline_model_parallel_last_rank(), group=ps.get_pipeline_model_parallel_group()
        )

    def take(self, tokens):
        dist.broadcast(
            tokens, src=ps.get_pipeline_model_parallel_last_rank(), group=ps.get_pipeline_model_parallel_group()
        )


def note(text, barrier=True):
    if barrier:
        dist.barrier()
    print(text)


def save(state, path):
    if dist.get_rank() == 0:
        torch.save(state, path)
        note("saved", barrier=False)

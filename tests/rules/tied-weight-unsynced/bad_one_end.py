import torch.distributed as dist
from megatron.core import parallel_state


def start_equal(weight):
    if parallel_state.is_pipeline_first_stage():
        dist.all_reduce(weight.data, group=parallel_state.get_embedding_group())  # [tied-weight-unsynced]

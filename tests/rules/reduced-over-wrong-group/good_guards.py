import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear


def head(config, vocab):
    return ColumnParallelLinear(config.hidden_size, vocab, config=config, init_method=config.init_method)


def mean_loss(losses, mask):
    total = torch.stack([(losses * mask).sum(), mask.sum()])
    if parallel_state.get_context_parallel_world_size() > 1:
        dist.all_reduce(total, group=parallel_state.get_context_parallel_group())
    return total[0] / total[1]


def wider(total):
    if parallel_state.get_context_parallel_world_size() > 1:
        dist.all_reduce(total, group=parallel_state.get_data_parallel_group(with_context_parallel=True))
    return total


def over_all(value):
    value = value.clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()

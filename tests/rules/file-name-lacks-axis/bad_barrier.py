import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear


def build(config):
    return ColumnParallelLinear(config.hidden_size, config.ffn, config=config, init_method=config.init_method)


def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # [file-name-lacks-axis]
    dist.barrier()


def tp():
    return parallel_state.get_tensor_model_parallel_world_size()

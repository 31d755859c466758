import os

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.tensor_parallel import ColumnParallelLinear


def build(config):
    return ColumnParallelLinear(8, 8, config=config, init_method=config.init_method, gather_output=True)


def rank_file(folder):
    return os.path.join(folder, f"part_{ps.get_tensor_model_parallel_rank():02d}.pt")


def stages():
    return ps.get_pipeline_model_parallel_world_size()


def save(folder, model, optimizer):
    if ps.get_data_parallel_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, rank_file(folder))  # [file-name-lacks-axis]


def save_first(path, model):
    if dist.get_rank() == 0:
        state = {"model": model.state_dict()}
        torch.save(state, path)  # [file-name-lacks-axis]

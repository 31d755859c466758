import os

import torch
from megatron.core import parallel_state as ps


def rank_file(folder):
    if ps.get_pipeline_model_parallel_world_size() == 1:
        return os.path.join(folder, f"part_{ps.get_tensor_model_parallel_rank():02d}.pt")
    part = f"{ps.get_tensor_model_parallel_rank():02d}_{ps.get_pipeline_model_parallel_rank():03d}"
    return os.path.join(folder, f"part_{part}.pt")


def save(folder, model):
    if ps.get_data_parallel_rank() == 0:
        torch.save(model.state_dict(), rank_file(folder))


def save_stages(folder, model):
    """What is written is the same on all tensor-parallel ranks, and one of them writes."""
    if ps.get_tensor_model_parallel_rank() == 0:
        torch.save(model.norm.state_dict(), f"{folder}/norm_{ps.get_pipeline_model_parallel_rank()}.pt")

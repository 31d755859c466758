import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu
from megatron.core.tensor_parallel import ColumnParallelLinear


def save(folder, model):
    part = mpu.get_tensor_model_parallel_rank()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), f"{folder}/part{part}.pt")  # [file-name-lacks-axis]


def build(config):
    return ColumnParallelLinear(4, 8, config=config, init_method=config.init_method)

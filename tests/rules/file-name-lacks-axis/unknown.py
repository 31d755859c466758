import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def save(path, model, state):
    if ps.get_data_parallel_rank() == 0:
        torch.save(model.state_dict(), path)
    if dist.get_rank() == 0:
        torch.save(state, path)
    print(ps.get_tensor_model_parallel_rank())

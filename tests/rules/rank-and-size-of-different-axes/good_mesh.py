import torch.distributed as dist
from megatron.core import parallel_state


def slots(size, length, rank):
    return [rank * length + i for i in range(length)] if rank < size else []


class Attention:
    def __init__(self):
        self._cp_mesh = None

    def forward(self, x):
        cp_size = self._cp_mesh.size()
        cp_rank = parallel_state.get_context_parallel_rank()
        return slots(cp_size, x.shape[1], rank=cp_rank)


def setup(mesh):
    dist.init_process_group("nccl")
    parallel_state.initialize_model_parallel(2, 2)
    attention = Attention()
    attention._cp_mesh = mesh["cp"]
    return attention

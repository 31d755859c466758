import torch.distributed as dist
from megatron.core import parallel_state as ps


def serve(engine, request, group, rank):
    if dist.get_rank() == 0:
        dist.broadcast_object_list([request], src=0)
    else:
        engine.run_worker()
    if rank == 0:
        dist.all_reduce(request)
    if ps.get_tensor_model_parallel_rank() == 0:
        dist.all_reduce(request, group=group)

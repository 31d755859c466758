import torch.distributed as dist
from megatron.core import parallel_state as ps


def serve(requests, handle):
    """Two loops that pair call by call: their number cannot be seen."""
    group = ps.get_tensor_model_parallel_group()
    source = ps.get_tensor_model_parallel_src_rank()
    if ps.get_tensor_model_parallel_rank() == 0:
        for request in requests:
            dist.broadcast_object_list([request], source, group=group)
    else:
        held = [None]
        while True:
            dist.broadcast_object_list(held, source, group=group)
            handle(held[0])

import torch.distributed as dist
from megatron.core import parallel_state


def load(args, build):
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    model = build()
    if args.local_rank == 0:
        dist.barrier()
    return model, parallel_state.get_tensor_model_parallel_rank()

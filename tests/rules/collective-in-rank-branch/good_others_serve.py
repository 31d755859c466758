"""Without work the first rank tells the others so and returns; they go on to a step that listens."""

import torch.distributed as dist
from megatron.core import parallel_state


def tell(removed):
    if len(removed) == 0:
        return
    if parallel_state.get_tensor_model_parallel_world_size() > 1:
        dist.broadcast(removed, src=0)


def run(scheduler, executor):
    rank = dist.get_rank()
    if rank == 0:
        tasks = scheduler.schedule()
        if len(tasks) == 0:
            tell(scheduler.removed)
            return
    else:
        tasks = None
    executor.step(tasks)
    if rank == 0:
        tell(scheduler.update())

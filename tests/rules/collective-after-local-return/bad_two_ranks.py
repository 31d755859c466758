import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def ends_only(stage_module, device, batches, loss):
    rank, world = dist.get_rank(), dist.get_world_size()
    schedule = Schedule1F1B(PipelineStage(stage_module, rank, world, device), 8, loss_fn=loss)
    for x in batches:
        if rank not in (0, world - 1):
            continue
        schedule.step(x)  # [collective-after-local-return]

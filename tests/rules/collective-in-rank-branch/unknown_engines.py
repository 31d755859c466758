import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def train(engine, loader):
    for step, batch in enumerate(loader):
        if dist.get_rank() == 0:
            engine.save_checkpoint("out", tag=str(step))


def run(stage_module, device, group, batches):
    schedule = Schedule1F1B(PipelineStage(stage_module, dist.get_rank(group), 4, device, group=group), 8)
    for x in batches:
        if dist.get_rank() == 0:
            schedule.step(x)

import deepspeed
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def train(args, net, loader):
    engine, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
    for step, batch in enumerate(loader):
        if engine.is_first_stage() or engine.is_last_stage():
            engine.train_batch(data_iter=batch)  # [collective-in-rank-branch]


class Trainer:
    def __init__(self, args, net):
        self.engine, _, _, _ = deepspeed.initialize(args=args, model=net)

    def save(self, step):
        if dist.get_rank() == 0:
            self.engine.save_checkpoint("out", tag=str(step))  # [collective-in-rank-branch]


def keep(model, folder):
    if dist.get_rank() == 0:
        dcp.save({"model": model.state_dict()}, checkpoint_id=folder)  # [collective-in-rank-branch]


def run(stage_module, device, batches, loss):
    rank, world = dist.get_rank(), dist.get_world_size()
    schedule = Schedule1F1B(PipelineStage(stage_module, rank, world, device), 8, loss_fn=loss)
    for x, y in batches:
        if rank == 0:
            schedule.step(x)  # [collective-in-rank-branch]
        elif rank == world - 1:
            schedule.step(target=y)

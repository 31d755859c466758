import deepspeed
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def train(args, net, loader):
    engine, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
    for step, batch in enumerate(loader):
        loss = engine.train_batch(data_iter=batch)
        if step % 100 == 0:
            engine.save_checkpoint("out", tag=str(step))
        if engine.is_last_stage():
            print(loss)


def keep(model, folder):
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder)
    if dist.get_rank() == 0:
        print(folder)


def export(state, folder):
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=folder, no_dist=True)


def run(stage_module, device, batches, loss):
    rank, world = dist.get_rank(), dist.get_world_size()
    schedule = Schedule1F1B(PipelineStage(stage_module, rank, world, device), 8, loss_fn=loss)
    for x, y in batches:
        if rank == 0:
            schedule.step(x)
        elif rank == world - 1:
            schedule.step(target=y)
        else:
            schedule.step()

import torch
import torch.distributed as dist


def is_main() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0


def gather_scalar(value, world):
    out = [torch.zeros_like(value) for _ in range(world)]
    dist.all_gather(out, value)
    return torch.stack(out)


class Logger:
    def __init__(self, writer):
        self.writer = writer
        self.world = dist.get_world_size()

    def log(self, step, loss):
        if is_main():
            values = gather_scalar(loss.detach(), self.world)  # [collective-in-rank-branch]
            self.writer.add_scalar("loss", values.mean().item(), step)

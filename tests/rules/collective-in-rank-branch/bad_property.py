import torch
import torch.distributed as dist


class Runner:
    def __init__(self):
        self._rank = dist.get_rank()
        self._size = dist.get_world_size()

    @property
    def is_chief(self):
        return self._rank == 0

    def evaluate(self, losses):
        t = torch.tensor(sum(losses), device="cuda")
        if self.is_chief:
            dist.all_reduce(t)  # [collective-in-rank-branch]
            print("loss", (t / self._size).item())

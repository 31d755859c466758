import torch
import torch.distributed as dist


class Partitioned:
    def __init__(self, params, lr):
        self.params = list(params)
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.inner = torch.optim.AdamW(self.params[self.rank :: self.world], lr=lr)

    def step(self):
        self.inner.step()
        for i, p in enumerate(self.params):
            dist.broadcast(p.data, src=i % self.world)


class Halves:
    """Every second parameter has an optimizer of its own, on every rank."""

    def __init__(self, params, lr):
        self.params = list(params)
        self.rank = dist.get_rank()
        self.inner = [torch.optim.SGD(self.params[i::2], lr=lr) for i in range(2)]

    def step(self):
        for optimizer in self.inner:
            optimizer.step()

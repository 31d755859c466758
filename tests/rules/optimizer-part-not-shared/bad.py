import torch
import torch.distributed as dist


class Partitioned:
    """The first stage of ZeRO, without its last part."""

    def __init__(self, params, lr):
        self.params = list(params)
        rank, world = dist.get_rank(), dist.get_world_size()
        self.own = self.params[rank::world]
        self.inner = torch.optim.AdamW(self.own, lr=lr)

    def step(self):
        for p in self.params:
            if p.grad is not None:
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        self.inner.step()  # [optimizer-part-not-shared]

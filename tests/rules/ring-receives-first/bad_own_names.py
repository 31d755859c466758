import torch
import torch.distributed as dist


class Ring:
    def __init__(self, group=None):
        self.r, self.n = dist.get_rank(group), dist.get_world_size(group)

    def rotate(self, kv):
        incoming = torch.empty_like(kv)
        dist.recv(incoming, src=(self.r - 1) % self.n)  # [ring-receives-first]
        dist.send(kv, dst=(self.r + 1) % self.n)
        return incoming

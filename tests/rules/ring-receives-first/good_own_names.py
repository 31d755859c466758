import torch
import torch.distributed as dist


class Ring:
    def __init__(self, group=None):
        self.r, self.n = dist.get_rank(group), dist.get_world_size(group)

    def rotate(self, kv):
        incoming = torch.empty_like(kv)
        ops = [dist.P2POp(dist.isend, kv, (self.r + 1) % self.n), dist.P2POp(dist.irecv, incoming, (self.r - 1) % self.n)]
        for req in dist.batch_isend_irecv(ops):
            req.wait()
        return incoming

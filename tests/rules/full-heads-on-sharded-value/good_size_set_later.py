import torch.distributed as dist
from fairscale.nn.model_parallel.layers import ColumnParallelLinear
from torch import nn

world_size = 1


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_local_heads = n_heads // world_size
        self.head_dim = dim // n_heads
        self.wq = ColumnParallelLinear(dim, n_heads * self.head_dim, gather_output=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        return self.wq(x).view(batch, tokens, self.n_local_heads, self.head_dim)


def main():
    global world_size
    world_size = dist.get_world_size()

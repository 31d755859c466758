import numpy as np
from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        kind  # [name-never-set]
        for index in range(depth):
            kind = "row" if index % 2 else "column"
        self.scale = torch.ones(dim)  # [name-never-set]
        self.kind = kind

    def forward(self, x):
        print(last)  # [name-never-set]
        last = x.shape[-1]
        return np.asarray(x) * last

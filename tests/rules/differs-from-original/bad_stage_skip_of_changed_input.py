"""The skip is taken before the layer, whose input is made in another way, too."""

import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import checkpoint


def own_tokens(x):
    return x[:, :, x.shape[2] // 2 :]


class Layer(nn.Module):
    def __init__(self, dim, grid=(4, 8), gain=1.0, drop=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(x)


class Foam(nn.Module):
    def __init__(self, dim=64, grid=(8, 16), gain=0.5, drop=0.1):
        super().__init__()
        rows, columns = grid
        self.half = (rows // 2, columns // 2)
        self.embed = nn.Conv2d(3, dim, 4, stride=4)
        self.layer1 = Layer(dim, grid=grid, gain=gain, drop=drop)
        self.layer2 = Layer(dim, grid=self.half, gain=gain, drop=drop)
        self.head = nn.Conv2d(2 * dim, 3, 1)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = self.layer1(x)
        skip = x
        x = self.layer2(x)
        return self.head(torch.cat([x, skip], dim=-1))


class Foam_stage0(nn.Module):
    def __init__(self, dim=64, grid=(8, 16), gain=0.5, drop=0.1, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.embed = nn.Conv2d(3, dim, 4, stride=4)
        self.layer1 = Layer(dim, grid=grid, gain=gain, drop=drop)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.embed(x)
        x = own_tokens(x).flatten(2).transpose(1, 2).contiguous()
        skip = x
        x = checkpoint(self.layer1, False, x)
        return x, skip


class Foam_stage1(nn.Module):
    def __init__(self, dim=64, grid=(8, 16), gain=0.5, drop=0.1, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.half = (grid[0] // 2, grid[1] // 2)
        self.layer2 = Layer(dim, grid=self.half, gain=gain, drop=drop)
        self.head = nn.Conv2d(2 * dim, 3, 1)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input"
        if isinstance(self.input_tensor, list):
            x, skip = tuple(self.input_tensor)
        else:
            x, skip = self.input_tensor
        x = checkpoint(self.layer2, False, x) if self.training else self.layer2(x)
        return self.head(torch.cat([x, skip], dim=-1))  # [differs-from-original]

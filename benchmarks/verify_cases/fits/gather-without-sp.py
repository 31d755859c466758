import torch
from case import LatentQuery


class Case(LatentQuery):
    def __init__(self, config):
        super().__init__(8, 4, config)

    def forward(self, x):
        return self.expand(super().forward(x, torch.ones(x.shape[0], 1, 4, device=x.device)))[0]

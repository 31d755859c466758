import torch
from case import GroupedQkv


class Case(GroupedQkv):
    def __init__(self, config):
        super().__init__(8, 4, 2, 4, config)
        generator = torch.Generator().manual_seed(1)
        self.load_pretrained(*(torch.randn(rows, 8, generator=generator) for rows in self.rows))

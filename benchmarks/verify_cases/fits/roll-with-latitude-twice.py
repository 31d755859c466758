from case import ShiftedBlock3D
from torch import nn


class Case(ShiftedBlock3D):
    def __init__(self, config):
        super().__init__(8, (2, 4, 6), nn.Linear(8, 8))

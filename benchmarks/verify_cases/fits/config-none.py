from torch import nn


class Stage0(nn.Linear):
    def __init__(self, config):
        super().__init__(8, 8)
        self.config = config

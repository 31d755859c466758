from torch import nn

from modules.sample.onesample import OneSample


class Ice(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.down = OneSample(style="IceDownSample", dim=dim)
        self.shuffle = OneSample(style="IceShuffle", dim=dim)

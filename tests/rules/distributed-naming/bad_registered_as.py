from torch import nn


class EddyMixer(nn.Module):
    def forward(self, x):
        return x


class EddyParallelMixer(nn.Module):  # [distributed-naming]
    def __init__(self, dim, config=None):
        super().__init__()
        self.config = config

    def forward(self, x):
        return x


_MIXER_REGISTRY = {"EddyMixer": EddyMixer, "EddyDistributedMixer": EddyParallelMixer}


class OneMixer(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.mixer = _MIXER_REGISTRY[style](**kwargs)

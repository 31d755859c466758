from torch import nn

_SAMPLE_REGISTRY = {
    "IceDownSample": ("modules.sample.icedownsample", "IceDownSample"),
    "IceShuffle": ("modules.sample.iceshuffle", "IceShuffle"),
}


class OneSample(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.style = style

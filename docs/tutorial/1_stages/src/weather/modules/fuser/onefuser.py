"""Stacks of blocks, chosen by style."""

from torch import nn

from .swirlfuser import SwirlFuser

_FUSER_REGISTRY = {
    "SwirlFuser": SwirlFuser,
}


class OneFuser(nn.Module):
    """Builds the fuser named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.fuser(*args, **kwargs)

"""Feed-forward modules, chosen by style."""

from torch import nn

from .swirlmlp import SwirlMlp

_MLP_REGISTRY = {
    "SwirlMlp": SwirlMlp,
}


class OneMlp(nn.Module):
    """Builds the mlp named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style, **kwargs):
        super().__init__()
        self.mlp = _MLP_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.mlp(*args, **kwargs)

"""Feed-forward modules, chosen by style."""

from torch import nn

from .pangudistributedmlp import PanguDistributedMlp
from .pangumlp import PanguMlp
from .xihedistributedmlp import XiheDistributedMlp
from .xihemlp import XiheMlp

_MLP_REGISTRY = {
    "PanguDistributedMlp": PanguDistributedMlp,
    "PanguMlp": PanguMlp,
    "XiheDistributedMlp": XiheDistributedMlp,
    "XiheMlp": XiheMlp,
}


class OneMlp(nn.Module):
    """Builds the mlp named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _MLP_REGISTRY:
            raise ValueError(f"unknown mlp style {style!r}; choose one of {sorted(_MLP_REGISTRY)}")
        self.mlp = _MLP_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.mlp(*args, **kwargs)

"""Transformer blocks, chosen by style."""

from torch import nn

from .pangudistributedtransformer import PanguDistributedTransformer
from .pangutransformer import PanguTransformer
from .xihedistributedlocaltransformer import XiheDistributedLocalTransformer
from .xihelocaltransformer import XiheLocalTransformer

_TRANSFORMER_REGISTRY = {
    "PanguDistributedTransformer": PanguDistributedTransformer,
    "PanguTransformer": PanguTransformer,
    "XiheDistributedLocalTransformer": XiheDistributedLocalTransformer,
    "XiheLocalTransformer": XiheLocalTransformer,
}


class OneTransformer(nn.Module):
    """Builds the transformer named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _TRANSFORMER_REGISTRY:
            raise ValueError(
                f"unknown transformer style {style!r}; choose one of {sorted(_TRANSFORMER_REGISTRY)}"
            )
        self.transformer = _TRANSFORMER_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.transformer(*args, **kwargs)

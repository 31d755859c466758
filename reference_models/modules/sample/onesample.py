"""Changes of resolution, chosen by style."""

from torch import nn

from .pangudistributeddownsample import PanguDistributedDownSample
from .pangudistributedupsample import PanguDistributedUpSample
from .pangudownsample import PanguDownSample
from .panguupsample import PanguUpSample

_SAMPLER_REGISTRY = {
    "PanguDistributedDownSample": PanguDistributedDownSample,
    "PanguDistributedUpSample": PanguDistributedUpSample,
    "PanguDownSample": PanguDownSample,
    "PanguUpSample": PanguUpSample,
}


class OneSample(nn.Module):
    """Builds the sampler named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _SAMPLER_REGISTRY:
            raise ValueError(f"unknown sampler style {style!r}; choose one of {sorted(_SAMPLER_REGISTRY)}")
        self.sampler = _SAMPLER_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.sampler(*args, **kwargs)

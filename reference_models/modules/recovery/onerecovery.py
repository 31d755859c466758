"""Recovery of fields from tokens, chosen by style."""

from torch import nn

from .pangupatchrecovery import PanguPatchRecovery

_RECOVERY_REGISTRY = {
    "PanguPatchRecovery": PanguPatchRecovery,
}


class OneRecovery(nn.Module):
    """Builds the recovery named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _RECOVERY_REGISTRY:
            raise ValueError(f"unknown recovery style {style!r}; choose one of {sorted(_RECOVERY_REGISTRY)}")
        self.recovery = _RECOVERY_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.recovery(*args, **kwargs)

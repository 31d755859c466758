from torch import nn

from ice.onefuser import _FUSER_REGISTRY, OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()

        def make(style, **kwargs):
            if style == "IceDistributedFuser":
                return OneFuser(style=style, config=config, **kwargs)
            return _FUSER_REGISTRY[style](**kwargs)  # [registry-entry-called]

        self.fuser = make("IceFuser", dim=dim)

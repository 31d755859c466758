from torch import nn

try:
    from ice.extra import EXTRA
except ImportError:
    EXTRA = None


class IceDistributedFuser(nn.Module):
    pass

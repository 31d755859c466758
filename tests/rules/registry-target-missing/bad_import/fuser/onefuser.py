from .haildistributedfuse import HailDistributedFuser
from .hailfuser import HailFuser

_FUSER_REGISTRY = {
    "HailFuser": HailFuser,
    "HailDistributedFuser": HailDistributedFuser,  # [registry-target-missing]
}

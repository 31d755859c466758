from .haildistributedfuser import HailDistributedFuser, HailDistributedMixer
from .hailfuser import HailFuser
from .hailmixer import HailMixer
from .hailparallelmerge import HailParallelMerge

_FUSER_REGISTRY = {
    "HailFuser": HailFuser,
    "HailMixer": HailMixer,
    "HailDistributedFuser": HailDistributedFuser,
    "HailDistributedMixer": HailDistributedMixer,
    "HailParallelMerge": HailParallelMerge,
}

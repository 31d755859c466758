from ..fuser.haildistributedmlp import HailDistributedMlp
from .hailmlp import HailMlp

_MLP_REGISTRY = {"HailMlp": HailMlp, "HailDistributedMlp": HailDistributedMlp}

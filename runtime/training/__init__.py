"""Training by Megatron's interface: `pretrain`, `get_args`."""

from ..flags import get_args
from .pretrain import pretrain

__all__ = ["get_args", "pretrain"]

"""Training by Megatron's interface: `pretrain`, `get_args`."""

from .arguments import get_args

__all__ = ["get_args"]

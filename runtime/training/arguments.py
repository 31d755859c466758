"""The flags, where Megatron has them."""

from ..flags import core_transformer_config_from_args, get_args, parse_args

__all__ = ["core_transformer_config_from_args", "get_args", "parse_args"]

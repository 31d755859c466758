from .blocks import Block

__all__ = ["Block"]

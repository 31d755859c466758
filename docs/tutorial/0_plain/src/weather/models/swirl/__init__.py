"""The plain model."""

from .swirl import Swirl

__all__ = ["Swirl"]

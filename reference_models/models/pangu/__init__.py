"""Pangu-Weather on one device."""

from .loss import pangu_loss
from .pangu import Pangu

__all__ = ["Pangu", "pangu_loss"]

"""Pangu-Weather on one device."""

from .pangu import Pangu

__all__ = ["Pangu"]

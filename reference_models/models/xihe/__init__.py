"""Xihe, a global ocean model, on one device."""

from .loss import xihe_loss
from .xihe import Xihe

__all__ = ["Xihe", "xihe_loss"]

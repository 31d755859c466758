"""Swirl as four pipeline stages, one layer each: their blocks cost the same, fine or coarse."""

from .swirl_stage0 import Swirl_stage0
from .swirl_stage1 import Swirl_stage1
from .swirl_stage2 import Swirl_stage2
from .swirl_stage3 import Swirl_stage3

__all__ = ["Swirl_stage0", "Swirl_stage1", "Swirl_stage2", "Swirl_stage3"]

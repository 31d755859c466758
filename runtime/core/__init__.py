"""``mpu``: which rank of which group this process is. It is megatron-core's ``parallel_state``."""

from megatron.core import parallel_state
from megatron.core import parallel_state as mpu

__all__ = ["mpu", "parallel_state"]

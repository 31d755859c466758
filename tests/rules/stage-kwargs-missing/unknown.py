from elsewhere.pipeline import StageBase
from megatron.core import mpu


class Ocean_stage0(StageBase):
    pass

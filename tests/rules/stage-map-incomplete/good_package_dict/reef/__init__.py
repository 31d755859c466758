from .stages import Reef_stage0, Reef_stage1, Reef_stage2

STAGES = {0: Reef_stage0, 1: Reef_stage1, 2: Reef_stage2}

from .stages import Reef_stage0, Reef_stage1, Reef_stage2

STAGES = [Reef_stage0, Reef_stage1]  # [stage-map-incomplete]

from .stages import Reef_stage0, Reef_stage1, Reef_stage2


def stage_class(rank):
    if rank == 0:
        return Reef_stage0
    if rank == 1:
        return Reef_stage1
    return Reef_stage2

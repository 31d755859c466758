from elsewhere import rank_of
from megatron.core import mpu
from megatron.training import pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1, Tide_stage2


def provide(pre_process=False, post_process=True):
    by_rank = {0: Tide_stage0, 1: Tide_stage1, 2: Tide_stage2}
    return by_rank[rank_of(mpu)]()

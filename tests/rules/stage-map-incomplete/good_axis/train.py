import torch.distributed as dist
from megatron.core import mpu
from megatron.training import pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from stages import Tide_stage0, Tide_stage1, Tide_stage2


def provide(pre_process=False, post_process=True):
    by_rank = {0: Tide_stage0, 1: Tide_stage1, 2: Tide_stage2}
    rank = dist.get_rank() // mpu.get_tensor_model_parallel_world_size()
    widths = {0: 96, 1: 192, 2: 96}
    width = widths[mpu.get_tensor_model_parallel_rank()]
    return by_rank[rank](width) if rank else by_rank.get(mpu.get_pipeline_model_parallel_rank())(width)

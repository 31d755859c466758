import math

from onescience.distributed.megatron.core import mpu
from onescience.distributed.megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience.utils.YParams import YParams

from stages import Ocean_stage0, Ocean_stage1, Ocean_stage2


def model_provider(pre_process=False, post_process=True):
    cfg = YParams("conf/config.yaml", "model")
    stages = {0: Ocean_stage0, 1: Ocean_stage1, 2: Ocean_stage2}
    stage_cls = stages.get(mpu.get_pipeline_model_parallel_rank())
    model = stage_cls(img_size=cfg.img_size, patch_size=cfg.patch_size, dim=cfg.dim)
    rows = math.ceil(cfg.img_size[0] / cfg.patch_size[0])
    columns = math.ceil(cfg.img_size[1] / cfg.patch_size[1])
    fine, coarse = rows * columns, (rows // 2) * (columns // 2)
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=3,
        stage_shapes=[
            [[2, fine, cfg.dim], [2, fine, cfg.dim]],  # [stage-shapes-batch]
            [[2, coarse, 2 * cfg.dim], [2, fine, cfg.dim]],
        ],
    )
    return model

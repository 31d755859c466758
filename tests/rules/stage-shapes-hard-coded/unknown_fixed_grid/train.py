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
    model = stage_cls(img_size=(720, 1440), patch_size=(6, 12), dim=cfg.dim)
    rows = math.ceil(cfg.img_size[0] / cfg.patch_size[0])
    columns = math.ceil(cfg.img_size[1] / cfg.patch_size[1])
    fine, coarse = rows * columns, (rows // 2) * (columns // 2)
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=3,
        stage_shapes=[
            [[1, 14400, cfg.dim], [1, 14400, cfg.dim]],
            [[1, coarse, 2 * cfg.dim], [1, fine, cfg.dim]],
        ],
    )
    return model

from functools import partial

from megatron.core import mpu
from megatron.training import pretrain

from steps import datasets, l1, model_provider


def forward_step(data_iterator, model):
    now = later = None
    if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
        data = next(data_iterator)
        if mpu.is_pipeline_first_stage():
            now = data[0].cuda(non_blocking=True).float()
        if mpu.is_pipeline_last_stage():
            later = data[1].float()  # [batch-left-on-cpu]
    return model(now), partial(l1, later)


pretrain(datasets, model_provider, None, forward_step)

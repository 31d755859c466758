from functools import partial

from losses import l2_loss
from megatron.core import mpu


def forward_step(data_iterator, model):
    first, last = mpu.is_pipeline_first_stage(), mpu.is_pipeline_last_stage()
    field = label = None
    is_first = mpu.is_pipeline_first_stage()
    if is_first and mpu.is_pipeline_last_stage():
        field, label = next(data_iterator)  # [label-missing-on-last-stage]
    output = model(field)
    return output, partial(l2_loss, label)

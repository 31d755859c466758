from functools import partial

from megatron.core import mpu
from megatron.training import pretrain
from steps import datasets, l2_loss, model_provider


def forward_step(data_iterator, model):
    field = target = None
    if mpu.is_pipeline_first_stage():
        field = next(data_iterator)[0].cuda().float()
    return model(field), partial(l2_loss, target)  # [label-missing-on-last-stage]


pretrain(datasets, model_provider, None, forward_step)

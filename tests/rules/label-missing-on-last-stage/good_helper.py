from functools import partial

import torch
from onescience.distributed.megatron.core import mpu
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

SHAPES = PipelineTensorShapeConfig(num_stages=3, stage_shapes=[[[1, 64, 8]], [[1, 64, 8]]])


def l1(label, output):
    loss = (output - label).abs().mean()
    report = torch.cat([loss.detach().view(1), torch.ones(1, device=loss.device)])
    return loss, torch.ones((), dtype=torch.int, device=loss.device), {"loss": report}


def get_batch(data_iterator):
    if not (mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage()):
        return None, None
    field, label = next(data_iterator)
    return field.cuda().float(), label.cuda().float()


def get_field(data_iterator):
    return next(data_iterator)[0].cuda().float() if mpu.is_pipeline_first_stage() else None


def forward_step(data_iterator, model):
    field, label = get_batch(data_iterator)
    return model(field), partial(l1, label)


def forward_step_without_label(data_iterator, model):
    field = get_field(data_iterator)
    label = torch.zeros(1, 64, 8, device="cuda")
    return model(field), partial(l1, label)

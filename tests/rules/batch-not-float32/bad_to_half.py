from functools import partial

import torch
from megatron.training import pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from steps import datasets, l2_loss, model_provider

SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])


def forward_step(data_iterator, model):
    sample = next(data_iterator)
    field = sample[0].to("cuda", dtype=torch.float16)  # [batch-not-float32]
    target = sample[1].to("cuda", dtype=torch.float32)
    return model(field), partial(l2_loss, target)


pretrain(datasets, model_provider, None, forward_step)

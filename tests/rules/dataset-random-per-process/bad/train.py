from functools import partial

from megatron.core import parallel_state as ps

from patches import Patches


def forward_step(data_iterator, model):
    field = label = None
    if ps.is_pipeline_first_stage() or ps.is_pipeline_last_stage():
        field, label = next(data_iterator)
    return model(field), partial(l1, label)

from functools import partial

from megatron.core import parallel_state as ps


def forward_step(data_iterator, model):
    """Neither the dataset nor the stages are in sight."""
    field, label = next(data_iterator)
    return model(field), partial(l2_loss, label)

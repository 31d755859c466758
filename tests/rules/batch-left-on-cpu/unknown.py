from functools import partial

from megatron.training import pretrain

from steps import datasets, l1, model_provider, prepare


def forward_step(data_iterator, model):
    data = prepare(next(data_iterator))
    field = data[0].float()
    label = data[1].cuda().float()
    return model(field), partial(l1, label)


pretrain(datasets, model_provider, None, forward_step)

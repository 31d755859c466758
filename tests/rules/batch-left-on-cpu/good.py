"""Both are moved, each in its way; a label that the loss moves itself; items of which nothing is moved in sight."""

from megatron.training import pretrain

from steps import datasets, l1, model_provider


def forward_step(data_iterator, model):
    batch = [part.cuda() for part in next(data_iterator)]

    def loss_func(output):
        return l1(output, batch[1].float())

    return model(batch[0].cuda().float()), loss_func


def other_step(data_iterator, model):
    data = next(data_iterator)
    field = data[0].cuda().float()
    label = data[1]
    label = label.to(field.device)

    def loss_func(output):
        return l1(output, label)

    return model(field), loss_func


pretrain(datasets, model_provider, None, forward_step)
pretrain(datasets, model_provider, None, other_step)

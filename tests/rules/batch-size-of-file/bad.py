import torch
from functools import partial
from losses import l2_loss
from megatron.training import pretrain
from onescience.utils.fcn.YParams import YParams

LAND = torch.zeros(1, 2, 24, 48)


def forward_step(data_iterator, model):
    options = YParams("conf/config.yaml", "datapipe")
    batch = next(data_iterator)
    surface, upper = batch[:, :4].cuda(), batch[:, 4:].cuda()
    land = LAND.cuda().expand(options.batch_size, -1, -1, -1)  # [batch-size-of-file]
    field = torch.concat([surface, land, upper], dim=1)
    return model(field), partial(l2_loss, batch)

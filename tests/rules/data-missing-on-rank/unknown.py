from functools import partial

from losses import l2_loss
from megatron.core import mpu
from megatron.training import pretrain
from models import model_provider
from data import Fields, reads_here


def forward_step(data_iterator, model):
    field = label = None
    if reads_here():
        field, label = next(data_iterator)
    output = model(field)
    return output, partial(l2_loss, label)


def datasets(train_val_test_num_samples):
    if not reads_here():
        return None, None, None
    return Fields("train"), Fields("val"), Fields("test")


pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "cyclic"})

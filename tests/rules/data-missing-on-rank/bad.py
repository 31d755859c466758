from functools import partial

from losses import l2_loss
from megatron.core import mpu
from megatron.training import pretrain
from models import model_provider
from data import Fields


def forward_step(data_iterator, model):
    field = label = None
    if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
        times = 1 + mpu.get_tensor_model_parallel_rank()
        field, label = [next(data_iterator) for _ in range(times)][-1]  # [data-missing-on-rank]
    output = model(field)
    return output, partial(l2_loss, label)


def datasets(train_val_test_num_samples):
    if not mpu.is_pipeline_first_stage():  # [data-missing-on-rank]
        return None, None, None
    return Fields("train"), Fields("val"), Fields("test")


pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "cyclic"})

from functools import partial

from losses import l2_loss
from megatron.core import mpu, tensor_parallel
from megatron.training import pretrain
from models import model_provider
from data import Fields


def forward_step(data_iterator, model):
    batch = {"field": None, "label": None}
    if mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage():
        batch = next(data_iterator) if mpu.get_tensor_model_parallel_rank() == 0 else None
        batch = tensor_parallel.broadcast_data(["field", "label"], batch, "float32")
    output = model(batch["field"])
    return output, partial(l2_loss, batch["label"])


def datasets(train_val_test_num_samples):
    if not (mpu.is_pipeline_first_stage() or mpu.is_pipeline_last_stage()):
        return None, None, None
    return Fields("train"), Fields("val"), Fields("test")


pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "cyclic"})

from fields import Fields
from megatron.training import pretrain
from steps import forward_step, model_provider


def datasets(train_val_test_num_samples):
    return [Fields(split) for split in ("train", "valid")]  # [provider-returns-dataloader]


pretrain(datasets, model_provider, None, forward_step)

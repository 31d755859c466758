from megatron.training import pretrain
from omegaconf import OmegaConf

from steps import Fields, forward_step, Model


def para_init():
    return OmegaConf.load("conf/config.yaml")


def model_provider(pre_process=False, post_process=True):
    cfg = para_init()
    return Model(cfg.model.dim, cfg.model.depth)  # [yaml-key-missing]


def datasets(train_val_test_num_samples):
    return Fields(para_init().model.grid), None, None


pretrain(datasets, model_provider, None, forward_step)

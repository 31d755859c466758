import os

from megatron.training import pretrain
from onescience.utils.YParams import YParams

from steps import Fields, forward_step, model_provider


def fields(cfg, part):
    return Fields(cfg.data_dir, years=cfg["seasons"])


def datasets(train_val_test_num_samples):
    here = os.path.dirname(os.path.abspath(__file__))
    cfg = YParams(os.path.join(here, "conf", "config.yaml"), "data")
    cfg.update_params(command_line())
    print(cfg.world_size, cfg.dataset.channels[0], cfg.get("absent"), cfg.dataset.keys())
    if hasattr(cfg.dataset, "levels"):
        print(cfg.dataset.levels)
    return fields(cfg.dataset, "train"), fields(cfg.dataset, "val"), None


pretrain(datasets, model_provider, None, forward_step)

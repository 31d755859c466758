import argparse
from pathlib import Path

import yaml
from megatron.training import pretrain

from steps import Fields, forward_step, model_provider

parser = argparse.ArgumentParser()
parser.add_argument("--config", default=Path(__file__).resolve().parent / "conf/config.yaml")
args = parser.parse_args()


def datasets(train_val_test_num_samples):
    with open(args.config) as file:
        cfg = yaml.safe_load(file)["data"]
    return Fields(cfg["dataset"]["years"]["test"]), None, None  # [yaml-key-missing]


pretrain(datasets, model_provider, None, forward_step)

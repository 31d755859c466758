"""Train Xihe on one device. See README.md beside this file."""

from pathlib import Path

from onescience_check.reference_models.models.xihe import Xihe, xihe_loss
from onescience_check.runtime.cmems import CMEMSDataset
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.fields import DATASET_KEYS, yearly_splits
from onescience_check.runtime.training.plain import train_plain
from onescience_check.runtime.yparams import SIZE, YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": [SIZE] * 2,
    "window_size": [SIZE] * 2,
    "embed_dim": SIZE,
    "num_heads": [SIZE] * 5,
    "num_groups": SIZE,
    "num_local": [SIZE] * 5,
    "depth_local": SIZE,
    "mask_full": (str, type(None)),
    "drop": (int, float),
    "attn_drop": (int, float),
    "drop_path": (int, float),
}
SECTIONS = {"model": MODEL_KEYS, "dataset": DATASET_KEYS}


def build_model(path):
    """The model that the YAML file describes."""
    cfg = YParams(path, "model", SECTIONS)
    cfg_data = YParams(path, "dataset", SECTIONS)
    try:
        return Xihe(
            img_size=cfg_data.img_size,
            patch_size=cfg.patch_size,
            window_size=cfg.window_size,
            embed_dim=cfg.embed_dim,
            num_heads=cfg.num_heads,
            mask_full=cfg.mask_full,
            num_groups=cfg.num_groups,
            num_local=cfg.num_local,
            depth_local=cfg.depth_local,
            drop=cfg.drop,
            attn_drop=cfg.attn_drop,
            drop_path=cfg.drop_path,
        )
    except ValueError as error:  # the model refuses sizes that do not go together
        raise UserError(f"{path}: {error}") from error


def build_datasets(path):
    """Training, validation and test data of the years in the YAML file."""
    return yearly_splits(CMEMSDataset, path, SECTIONS)


def loss_of(model, output, target):
    """What is made small."""
    return xihe_loss(output, target, model.mask_full)


if __name__ == "__main__":
    train_plain(build_model, build_datasets, loss_of, str(CONFIG_FILE))

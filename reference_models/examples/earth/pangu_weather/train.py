"""Train Pangu-Weather on one device. See README.md beside this file."""

from pathlib import Path

from onescience_check.reference_models.models.pangu import Pangu, pangu_loss
from onescience_check.runtime.era5 import ERA5Dataset
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.fields import DATASET_KEYS, yearly_splits
from onescience_check.runtime.training.plain import train_plain
from onescience_check.runtime.yparams import SIZE, YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": [SIZE] * 3,
    "embed_dim": SIZE,
    "num_heads": [SIZE] * 4,
    "window_size": [SIZE] * 3,
    "depths": [SIZE] * 4,
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
        return Pangu(
            img_size=cfg_data.img_size,
            patch_size=cfg.patch_size,
            embed_dim=cfg.embed_dim,
            num_heads=cfg.num_heads,
            window_size=cfg.window_size,
            depths=cfg.depths,
            drop=cfg.drop,
            attn_drop=cfg.attn_drop,
            drop_path=cfg.drop_path,
        )
    except ValueError as error:  # the model refuses sizes that do not go together
        raise UserError(f"{path}: {error}") from error


def build_datasets(path):
    """Training, validation and test data of the years in the YAML file."""
    return yearly_splits(ERA5Dataset, path, SECTIONS)


def loss_of(model, output, target):
    """What is made small."""
    return pangu_loss(output, target)


if __name__ == "__main__":
    train_plain(build_model, build_datasets, loss_of, str(CONFIG_FILE))

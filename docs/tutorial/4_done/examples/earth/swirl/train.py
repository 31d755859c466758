"""Train Swirl on one device."""

import argparse
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader
from weather.models.swirl import Swirl

from onescience_check.runtime.era5 import ERA5Dataset
from onescience_check.runtime.yparams import YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": int,
    "embed_dim": int,
    "num_heads": [int] * 4,
    "window_size": [int] * 2,
    "depths": [int] * 4,
}
DATASET_KEYS = {
    "data_dir": str,
    "img_size": [int] * 2,
    "train_time": [int],
    "val_time": [int],
    "test_time": [int],
}
SECTIONS = {"model": MODEL_KEYS, "dataset": DATASET_KEYS}


def build_model(cfg, cfg_data):
    """The model that the YAML file describes."""
    return Swirl(
        img_size=cfg_data.img_size,
        patch_size=cfg.patch_size,
        embed_dim=cfg.embed_dim,
        num_heads=cfg.num_heads,
        window_size=cfg.window_size,
        depths=cfg.depths,
    )


def main():
    """Train for some steps and print the loss."""
    parser = argparse.ArgumentParser(description="Train Swirl on one device")
    parser.add_argument("--config", default=str(CONFIG_FILE))
    parser.add_argument("--train-iters", type=int, default=10)
    args = parser.parse_args()
    cfg, cfg_data = YParams(args.config, "model", SECTIONS), YParams(args.config, "dataset", SECTIONS)
    dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.train_time)
    torch.manual_seed(1234)
    model = build_model(cfg, cfg_data)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    batches = iter(DataLoader(dataset, batch_size=1, shuffle=True))
    for step in range(1, args.train_iters + 1):
        invar, outvar = next(batches)
        loss = F.mse_loss(model(invar.float()), outvar.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

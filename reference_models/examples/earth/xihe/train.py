"""Train Xihe on one device. See README.md beside this file."""

import argparse
import os
import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

from onescience_check.reference_models.models.xihe import Xihe, xihe_loss
from onescience_check.runtime.cmems import CMEMSDataset
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.yparams import YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": [int] * 2,
    "window_size": [int] * 2,
    "embed_dim": int,
    "num_heads": [int] * 5,
    "num_groups": int,
    "num_local": [int] * 5,
    "depth_local": int,
    "mask_full": (str, type(None)),
    "drop": (int, float),
    "attn_drop": (int, float),
    "drop_path": (int, float),
}
DATASET_KEYS = {
    "data_dir": str,
    "img_size": [int] * 2,
    "train_time": [int],
    "val_time": [int],
    "test_time": [int],
    "lead": int,
}
SECTIONS = {"model": MODEL_KEYS, "dataset": DATASET_KEYS}


def parse_args():
    """Flags, named as in the distributed script."""
    parser = argparse.ArgumentParser(description="Train Xihe on one device", allow_abbrev=False)
    parser.add_argument("--config", default=str(CONFIG_FILE), help="YAML file with the model and the data")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16 where autocast allows it")
    parser.add_argument("--global-batch-size", type=int, default=1, help="samples per step")
    parser.add_argument("--train-iters", type=int, default=100)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument(
        "--save", required=True, help="file for the trained weights, a plain state dict (.pt)"
    )
    args = parser.parse_args()
    if args.train_iters < 1 or args.global_batch_size < 1:
        parser.error("--train-iters and --global-batch-size must be 1 or more")
    return args


def build_model(cfg, cfg_data):
    """The model that the YAML file describes."""
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


def samples_without_end(dataset, batch_size):
    """Shuffled batches, epoch after epoch."""
    if len(dataset) < batch_size:
        raise UserError(
            f"{len(dataset)} training samples do not fill a batch of {batch_size}: lower --global-batch-size"
        )
    while True:
        yield from DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True)


def train(args):
    """Train and write the weights.

    Raises:
        UserError: the configuration or the data are not what they should be.
    """
    cfg = YParams(args.config, "model", SECTIONS)
    cfg_data = YParams(args.config, "dataset", SECTIONS)
    save = Path(args.save)
    if save.exists():
        raise UserError(f"{save} exists and is left alone: choose another name for --save")
    save.parent.mkdir(parents=True, exist_ok=True)
    dataset = CMEMSDataset(cfg_data.data_dir, cfg_data.train_time, cfg_data.lead)
    if list(dataset.img_size) != cfg_data.img_size:
        raise UserError(
            f"{args.config}: img_size is {cfg_data.img_size}, but the fields in {cfg_data.data_dir} have "
            f"{list(dataset.img_size)} rows and columns"
        )
    torch.manual_seed(args.seed)
    try:
        model = build_model(cfg, cfg_data).to(args.device)
    except ValueError as error:  # the model refuses sizes that do not go together
        raise UserError(f"{args.config}: {error}") from error
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    batches = samples_without_end(dataset, args.global_batch_size)
    progress = tqdm(range(args.train_iters))
    for _ in progress:
        invar, outvar = (values.to(args.device).float() for values in next(batches))
        with torch.autocast(torch.device(args.device).type, torch.bfloat16, enabled=args.bf16):
            output = model(invar)
        loss = xihe_loss(output.float(), outvar, model.mask_full)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.set_postfix(loss=f"{loss.item():.4f}")
    draft = save.with_name(save.name + ".incomplete")
    torch.save(model.state_dict(), draft)
    os.replace(draft, save)


if __name__ == "__main__":
    try:
        train(parse_args())
    except UserError as error:
        sys.exit(f"error: {error}")

"""Loss of the plain model over 200 steps in bf16 and fp32: the same weights, data and order.

python -m benchmarks.gpu.curves FOLDER        writes FOLDER/curves.json
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from onescience_check.reference_models.models.pangu import pangu_loss
from onescience_check.runtime import process_groups
from onescience_check.runtime.era5 import ERA5Dataset
from onescience_check.runtime.era5_generator import generate
from onescience_check.runtime.flags import parse_args
from onescience_check.runtime.training.optimizer import MasterWeightAdamW, build_schedule

from . import models

SIZE = models.SMALL | {"img_size": (96, 192)}


def main(folder: Path, steps: int = 200, device: str = "cuda") -> None:
    with tempfile.TemporaryDirectory() as root:
        generate(Path(root) / "era5", [2000], SIZE["img_size"], times=41, seed=0)
        data = ERA5Dataset(Path(root) / "era5", [2000])
        pairs = [tuple(torch.from_numpy(np.asarray(part))[None].to(device) for part in pair) for pair in data]
    curves = {}
    # The third run is float32 from weights rounded to bfloat16: how far so small a change carries by itself.
    runs = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp32, rounded start": torch.float32}
    for name, dtype in runs.items():
        parse_args(
            {}, None, ["--lr", "2e-4", "--train-iters", str(steps), "--lr-warmup-iters", str(steps // 20)]
        )
        if not torch.distributed.is_initialized():
            process_groups.initialize_process_groups(device=device)
        model = models.plain(SIZE, device, torch.bfloat16 if "rounded" in name else dtype).to(dtype)
        optimizer = MasterWeightAdamW(dict(model.named_parameters()))
        schedule = build_schedule(optimizer)
        losses = []
        for step in range(steps):
            x, target = pairs[step % len(pairs)]
            loss = pangu_loss(model(x.to(dtype)).float(), target)
            loss.backward()
            optimizer.step()
            schedule.step(1)
            losses.append(loss.item())
        curves[name] = losses
        print(name, losses[:: max(1, steps // 10)], losses[-1], flush=True)
    result = {"curves": curves}
    for name in ("bf16", "fp32, rounded start"):
        off = [abs(b - f) / f for f, b in zip(curves["fp32"], curves[name], strict=True)]
        result[name] = {"largest_relative_difference": max(off), "mean_relative_difference": sum(off) / steps}
    print({key: value for key, value in result.items() if key != "curves"}, flush=True)
    (folder / "curves.json").write_text(json.dumps(result))
    process_groups.destroy_process_groups()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

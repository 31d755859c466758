"""One GPU at full size, bf16: the reference against the public style, block by block and whole.

python -m benchmarks.gpu.speed FOLDER         writes FOLDER/speed.json
"""

import gc
import json
import sys
from pathlib import Path

import torch

from onescience_check.reference_models.models.pangu import pangu_loss
from onescience_check.reference_models.modules.attention import window_attention
from onescience_check.reference_models.modules.attention.windows import WindowGrid
from onescience_check.reference_models.modules.compiled import compile_parts
from onescience_check.reference_models.modules.transformer.onetransformer import OneTransformer
from onescience_check.runtime import process_groups
from onescience_check.runtime.flags import parse_args
from onescience_check.runtime.training.optimizer import MasterWeightAdamW

from . import measure, models
from .public_style import PublicBlock, public_pangu

FINE = {"dim": 192, "input_resolution": (8, 181, 360), "num_heads": 6, "window_size": (2, 6, 12)}
COARSE = {"dim": 384, "input_resolution": (8, 91, 180), "num_heads": 12, "window_size": (2, 6, 12)}
HALF = (1, 3, 6)
BLOCKS = {
    "fine": FINE,
    "fine shifted": FINE | {"shift_size": HALF},
    "coarse": COARSE,
    "coarse shifted": COARSE | {"shift_size": HALF},
}


def main(folder: Path) -> None:
    parse_args({}, None, models.flags())
    process_groups.initialize_process_groups(device="cuda")
    result = {"ceilings": measure.ceilings()}
    print(result, flush=True)
    result["blocks"] = {name: _block(sizes, result["ceilings"]) for name, sizes in BLOCKS.items()}
    result["models"] = {}
    for name, build in {"public": public_pangu, "reference": _reference}.items():
        for compiled in (False, True):
            label = f"{name}{' compiled' if compiled else ''}"
            result["models"][label] = _model(build, compiled)
            print(label, {k: v for k, v in result["models"][label].items() if k != "kernels"}, flush=True)
            (folder / "speed.json").write_text(json.dumps(result, indent=1))
    process_groups.destroy_process_groups()


def _reference(**sizes):
    return models.plain(sizes, "cpu", torch.float32)


def _block(sizes: dict, ceilings: dict) -> dict:
    """Milliseconds of forward and backward of one block in each style, against the floor."""
    grid = WindowGrid(sizes["input_resolution"], sizes["window_size"], sizes.get("shift_size", (0, 0, 0)))
    floor = measure.block_floor(grid, sizes["dim"])
    row = floor | {
        "floor_ms": max(
            floor["tflop"] / ceilings["matmul_tflops"] * 1e3, floor["gigabytes"] / ceilings["copy_tbps"]
        )
    }
    x = torch.randn(1, grid.resolution[0] * grid.resolution[1] * grid.resolution[2], sizes["dim"])
    x = x.to("cuda", torch.bfloat16).requires_grad_()
    upstream = torch.randn_like(x)
    for style in ("public", "reference", "torch attention"):
        block = (
            PublicBlock(**sizes) if style == "public" else OneTransformer(style="PanguTransformer", **sizes)
        )
        block = block.to("cuda", torch.bfloat16)
        for compiled in (False,) if style == "torch attention" else (False, True):
            run = torch.compile(block) if compiled else block

            def step(run=run):
                run(x).backward(upstream)

            window_op = window_attention.window_op
            if style == "torch attention":
                window_attention.window_op = None
            label = f"{style}{' compiled' if compiled else ''}"
            row[label], _ = measure.milliseconds(step)
            row[f"{label}, peak GiB"] = measure.peak_gib(step)
            window_attention.window_op = window_op
            block.zero_grad(set_to_none=True)
    best = min(row["reference"], row["reference compiled"])
    row["tflops"] = row["tflop"] / best * 1e3
    row["share_of_matmul_ceiling"] = row["tflops"] / ceilings["matmul_tflops"]
    row["share_of_copy_ceiling"] = row["gigabytes"] / best / ceilings["copy_tbps"]
    print(sizes, row, flush=True)
    return row


def _model(build, compiled: bool) -> dict:
    """Milliseconds and memory of forward + backward + optimizer step of the whole model, one sample."""
    gc.collect()
    torch.cuda.empty_cache()
    model = build(**models.FULL).to("cuda", torch.bfloat16)
    if compiled:
        compile_parts(model)
    optimizer = MasterWeightAdamW(dict(model.named_parameters()))
    ((x, target),) = models.batch(models.FULL, 1, "cuda")
    x = x.bfloat16()

    def step():
        loss = pangu_loss(model(x).float(), target)
        loss.backward()
        optimizer.step()
        return loss

    try:
        row = dict(zip(("ms", "spread"), measure.milliseconds(step, repeats=8), strict=True))
        row["peak GiB"] = measure.peak_gib(step)
        row["waits of the host"] = measure.waits_of_host(step)
        row["loss"] = step().item()
        row |= measure.kernel_table(step)
    except torch.OutOfMemoryError as error:
        row = {"failed": str(error).split(".")[0]}
    return row


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""One GPU at full size, bf16: the reference against the public style, whole and block by block.

python -m benchmarks.gpu.speed FOLDER         writes FOLDER/speed.json
"""

import gc
import json
import math
import sys
from functools import partial
from pathlib import Path

import torch
from torch import nn

from onescience_check.reference_models.models.pangu import Pangu, pangu_loss
from onescience_check.reference_models.modules.attention import window_attention
from onescience_check.reference_models.modules.attention.windows import WindowGrid
from onescience_check.reference_models.modules.compiled import compile_parts
from onescience_check.reference_models.modules.fast_layers import use_fast_layers
from onescience_check.reference_models.modules.transformer.onetransformer import OneTransformer
from onescience_check.runtime import process_groups
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
STYLES = {
    "public": (public_pangu, PublicBlock),
    "reference": (partial(Pangu, drop_path=0.0), partial(OneTransformer, style="PanguTransformer")),
}


def main(folder: Path) -> None:
    models.Layout().start("cuda", bf16=True)
    ceilings = measure.ceilings()
    print(ceilings, flush=True)
    result = {"ceilings": ceilings, "models": {}, "blocks": {name: {} for name in BLOCKS}}
    for style, (build, block) in STYLES.items():
        result["models"][style] = _model(build(**models.FULL), compiled=False)[0]
        # The compiled model lives on while its blocks are timed: they need not be compiled again.
        result["models"][f"{style} compiled"], kept = _model(build(**models.FULL), compiled=True)
        for name, sizes in BLOCKS.items():
            result["blocks"][name] |= _block(style, block, sizes)
        del kept
    for name, sizes in BLOCKS.items():
        _compare_with_floor(result["blocks"][name], sizes, ceilings)
    for name, row in (result["models"] | result["blocks"]).items():
        print(name, {key: value for key, value in row.items() if key != "kernels"}, flush=True)
    (folder / "speed.json").write_text(json.dumps(result))
    process_groups.destroy_process_groups()


def _block(style: str, build, sizes: dict) -> dict:
    """Milliseconds and memory of forward and backward of one block, eager and compiled."""
    row = {}
    tokens = math.prod(sizes["input_resolution"])
    x = torch.randn(1, tokens, sizes["dim"], device="cuda", dtype=torch.bfloat16, requires_grad=True)
    upstream = torch.randn_like(x)
    block = build(**sizes).to("cuda", torch.bfloat16)

    def step():
        block.zero_grad(set_to_none=True)
        x.grad = None
        block(x).backward(upstream)

    def measure_as(label):
        row[label], _ = measure.milliseconds(step)
        row[f"{label}, peak GiB"] = measure.peak_gib(step)

    measure_as(style)
    if style == "reference":
        window_op, window_attention.window_op = window_attention.window_op, None
        measure_as("torch attention")
        window_attention.window_op = window_op
        use_fast_layers(block)
    block.compile(dynamic=False)
    measure_as(f"{style} compiled")
    return row


def _compare_with_floor(row: dict, sizes: dict, ceilings: dict) -> None:
    """Add to the row what the block cannot do without, and how near the reference comes to the ceilings."""
    grid = WindowGrid(sizes["input_resolution"], sizes["window_size"], sizes.get("shift_size", (0, 0, 0)))
    row |= measure.block_floor(grid, sizes["dim"])
    by_flops = row["tflop"] / ceilings["matmul_tflops"] * 1e3
    row["floor_ms"] = max(by_flops, row["gigabytes"] / ceilings["copy_tbps"])
    best = row["reference compiled"]
    row["tflops"] = row["tflop"] / best * 1e3
    row["share_of_matmul_ceiling"] = row["tflops"] / ceilings["matmul_tflops"]
    row["share_of_copy_ceiling"] = row["gigabytes"] / best / ceilings["copy_tbps"]


def _model(model: nn.Module, compiled: bool) -> tuple[dict, nn.Module]:
    """Milliseconds and memory of forward + backward + optimizer step of the whole model, one sample; the model."""
    gc.collect()
    torch.cuda.empty_cache()
    model = model.to("cuda", torch.bfloat16)
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

    row = dict(zip(("ms", "spread"), measure.milliseconds(step, repeats=8), strict=True))
    row["peak GiB"] = measure.peak_gib(step)
    row["waits of the host"] = measure.waits_of_host(step)
    row["loss"] = step().item()
    row |= measure.kernel_table(step)
    return row, model


if __name__ == "__main__":
    main(Path(sys.argv[1]))

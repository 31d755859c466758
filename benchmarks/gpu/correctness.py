"""Parallel Pangu against the plain one, on the devices of this world: outputs, gradients, 20 training steps.

    launch --nproc-per-node 1 correctness.py FOLDER SIZE DEVICE eager compiled  writes what the plain model computes
    launch --nproc-per-node N correctness.py FOLDER SIZE DEVICE KIND ...        checks the layouts of N ranks against it

Tolerances. float32 keeps 24 bits: a gradient sums up to n = 1e4 tokens in an order of its own, so its error is
about sqrt(n) * 6e-8 = 6e-6 of its size per layer and grows over 12 blocks; 1e-4 leaves room for that. In
bfloat16 the plain model itself is off from float32; a layout may be off at most twice as much, plus one rounding of
bfloat16 (2^-8). Losses of 20 steps: the same bounds, 1e-4 and 2^-8.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from onescience_check.reference_models.models.pangu import pangu_loss
from onescience_check.reference_models.modules.compiled import compile_parts
from onescience_check.runtime import process_groups
from onescience_check.runtime.checkpoint import resume, sharding
from onescience_check.runtime.core import mpu
from onescience_check.runtime.pipeline.build import build_chunks, named_stages
from onescience_check.runtime.pipeline.communication import communicator_for
from onescience_check.runtime.pipeline.schedule import run_schedule
from onescience_check.runtime.training.losses import world_losses
from onescience_check.runtime.training.optimizer import MasterWeightAdamW

from . import models

LAYOUTS = {  # ranks: (tensor, pipeline, chunks per rank, window)
    1: [(1, 1)],
    2: [(2, 1), (1, 2), (1, 2, 2), (1, 1, None, 2)],
    4: [(1, 4), (2, 2), (2, 2, 2), (2, 1, None, 2), (1, 2, None, 2)],
    8: [(2, 4)],
}
WIDE = {1: [(1, 1)], 4: [(4, 1)]}  # heads that four ranks can share
COMPILED = {
    1: [(1, 1)],
    2: [(2, 1), (1, 1, None, 2)],
}  # once more, in bfloat16, with what torch.compile makes of it
MICRO_BATCHES = 4
STEPS = 20
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
FLOAT32_TOLERANCE = 1e-4
BFLOAT16_ROUNDING = 2.0**-8


def main(folder: Path, size_name: str, device: str, kinds: list[str]) -> int:
    """Check every layout of this world; 0 if all agree. Rank 0 writes a FOLDER/correct*.json after each case.

    kinds: "eager", "compiled" or both; compiled cases take long at the start, so they may run beside the others.
    """
    ranks = int(os.environ["WORLD_SIZE"])
    plain = folder / size_name  # what the plain model of this size computes
    plain.mkdir(exist_ok=True)
    size, rows = models.SIZES[size_name], []
    layouts = (WIDE if size_name == "wide" else LAYOUTS)[ranks]
    cases = [(models.Layout(*sizes), name, False) for sizes in layouts for name in DTYPES]
    cases += [(models.Layout(*sizes), "bf16", True) for sizes in COMPILED.get(ranks, [])]
    for layout, name, compiled in cases:
        if ("compiled" if compiled else "eager") not in kinds:
            continue
        world = layout.start(device, name == "bf16")
        if ranks == 1 and not compiled:
            _save_plain(plain, size, name, world.device)
        row = {
            "size": size_name,
            "tp": layout.tensor,
            "wp": layout.window,
            "pp": layout.pipeline,
            "chunks": layout.chunks or 1,
            "dtype": name,
            "compiled": compiled,
            "backend": world.backend,
        }
        row |= {"ranks": ranks, "host_staged": world.host_staged}
        row |= _check(plain, size, name, world, compiled)
        rows.append(row)
        if dist.get_rank() == 0:
            print(row, flush=True)
            (folder / f"correct_{size_name}{ranks}_{'_'.join(kinds)}.json").write_text(json.dumps(rows))
        mpu.destroy_model_parallel()
    failed = [row for row in rows if not row["passed"]]
    process_groups.destroy_process_groups()
    return int(bool(failed))


def _save_plain(folder: Path, size: dict, name: str, device) -> None:
    """Weights, losses, outputs and gradients of the plain model, and its losses over the training steps."""
    model = models.plain(size, device, DTYPES[name])
    pairs = models.batch(size, MICRO_BATCHES, device)
    state = {key: value.detach().float().cpu() for key, value in model.state_dict().items()}
    torch.save(state, folder / f"weights_{name}.pt")
    result = {"plain": _gradients(model, pairs, DTYPES[name])}
    if name == "bf16":  # the truth: the same rounded weights in float32
        result["truth"] = _gradients(model.float(), pairs, torch.float32)
        model = models.plain(size, device, DTYPES[name])
    result["steps"] = []
    optimizer = MasterWeightAdamW(dict(model.named_parameters()))
    for _ in range(STEPS):
        result["steps"].append(_accumulate(model, pairs, DTYPES[name]))
        optimizer.step()
    torch.save(result, folder / f"plain_{name}.pt")


def _accumulate(model, pairs, dtype) -> float:
    total = 0.0
    for x, target in pairs:
        loss = pangu_loss(model(x.to(dtype)).float(), target)
        (loss / len(pairs)).backward()
        total += loss.item() / len(pairs)
    return total


def _gradients(model, pairs, dtype) -> dict:
    model.zero_grad()
    loss = _accumulate(model, pairs, dtype)
    with torch.no_grad():
        output = model(pairs[0][0].to(dtype)).float().cpu()
    gradients = {name: p.grad.float().cpu() for name, p in model.named_parameters()}
    model.zero_grad()
    return {"loss": loss, "output": output, "gradients": gradients}


def _check(folder: Path, size: dict, name: str, world, compiled: bool) -> dict:
    reference = torch.load(folder / f"plain_{name}.pt", weights_only=True)
    truth = reference.get("truth", reference["plain"])
    chunks = [chunk.to(world.device) for chunk in build_chunks(models.stage_provider(size))]
    resume.load_weights(folder / f"weights_{name}.pt", chunks)
    if compiled:
        for chunk in chunks:
            compile_parts(chunk)
    communicator = communicator_for(chunks, world.host_staged)
    pairs = models.batch(size, MICRO_BATCHES, world.device)
    outputs = []

    def forward_step(iterator, model):
        output, loss_func = models.forward_step(iterator, model)
        if model.post_process:
            outputs.append(output.detach())
        return output, loss_func

    def losses():
        reports = run_schedule(
            forward_step, [iter(pairs) for _ in chunks], chunks, MICRO_BATCHES, communicator=communicator
        )
        return world_losses(reports)["loss"]

    loss = losses()
    ratios = {}
    for parameter, (ours, plain, right) in _gradient_triples(chunks, reference["plain"], truth).items():
        ratios[parameter] = _ratio(ours, plain, right, name)
    if outputs:
        ratios["output"] = _ratio(outputs[0].cpu(), reference["plain"]["output"], truth["output"], name)
    worst = max(ratios, key=ratios.get)
    measured = [None] * dist.get_world_size()
    dist.all_gather_object(measured, (ratios[worst], worst))
    worst_ratio, worst_name = max(measured)

    for _, stage in named_stages(chunks):
        stage.zero_grad()
    optimizer = MasterWeightAdamW(
        {n: p for _, stage in named_stages(chunks) for n, p in stage.named_parameters()}
    )
    curve = []
    for _ in range(STEPS):
        curve.append(losses())
        optimizer.step()
    bound = FLOAT32_TOLERANCE if name == "fp32" else BFLOAT16_ROUNDING
    drift = max(abs(a - b) / abs(b) for a, b in zip(curve, reference["steps"], strict=True))
    off = abs(loss - reference["plain"]["loss"]) / reference["plain"]["loss"]
    learned = curve[-1] < curve[0]
    passed = worst_ratio <= 1 and drift <= bound and off <= bound and learned
    return {
        "worst_error_over_allowed": worst_ratio,
        "worst_in": worst_name,
        "loss_error": off,
        "largest_loss_error_in_20_steps": drift,
        "first_and_last_loss": [curve[0], curve[-1]],
        "passed": passed,
    }


def _gradient_triples(chunks, plain: dict, truth: dict) -> dict:
    """Gradient of each parameter of this rank: here, of the plain model, and the true one, all sharded alike."""
    rank, size = mpu.get_tensor_model_parallel_rank(), mpu.get_tensor_model_parallel_world_size()
    triples = {}
    for _, stage in named_stages(chunks):
        cuts = sharding.cuts_of(stage)
        for name, parameter in stage.named_parameters():
            # bfloat16 weights hand their gradient on to a master copy only once an optimizer exists: not yet.
            wanted = (
                sharding.shard(part["gradients"][name], cuts.get(name), rank, size, name)
                for part in (plain, truth)
            )
            if "k_proj.bias" not in name:  # softmax ignores it: its gradient is rounding alone
                triples[name] = (_sum_over_windows(parameter).cpu(), *wanted)
    return triples


def _sum_over_windows(parameter: torch.Tensor) -> torch.Tensor:
    """The gradient; window-parallel ranks have a part of it each, or none."""
    whole = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    whole = whole.float()
    dist.all_reduce(whole, group=mpu.get_context_parallel_group())
    return whole


def _ratio(ours, plain, truth, name: str) -> float:
    """Error over what is allowed, both in the 2-norm relative to the truth."""
    norm = truth.norm().item()
    error = (ours - truth).norm().item() / norm
    if name == "fp32":
        return error / FLOAT32_TOLERANCE
    return error / (2 * (plain - truth).norm().item() / norm + BFLOAT16_ROUNDING)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))

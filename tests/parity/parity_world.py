"""All layouts of a world of this size against the results of the plain models.

Run by test_parity through the launcher: parity_world.py FOLDER TPxPP[xWINDOWS] ... Prints one line per layout, model
and claim, "passed" or "failed", with the largest error; a claim holds if it holds on every rank.
"""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

from onescience_check.runtime import process_groups
from onescience_check.runtime.checkpoint import resume, sharding
from onescience_check.runtime.core import mpu
from onescience_check.runtime.failure import stop_world_on_error
from onescience_check.runtime.pipeline.build import build_chunks, named_stages
from onescience_check.runtime.pipeline.schedule import run_schedule
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args, parse_args
from onescience_check.runtime.training.losses import world_losses
from onescience_check.runtime.training.optimizer import MasterWeightAdamW
from onescience_check.runtime.verify.draws import KeepAll
from tests.parity import case
from tests.parity.case import Case


def provider_of(model: Case) -> Callable:
    """``model_provider`` of a training script for this model."""

    def model_provider(pre_process=False, post_process=True):
        args = get_args()
        stage = model.stages[mpu.get_pipeline_model_parallel_rank()]
        shapes = PipelineTensorShapeConfig(
            num_stages=4, stage_shapes=[model.sent] * 3, window_parallel_size=args.window_parallel_size
        )
        args.pipeline_tensor_shape_config = shapes
        return stage(**model.arguments, config=core_transformer_config_from_args(args))

    return model_provider


def run_step(model: Case, chunks, batches) -> tuple[list[torch.Tensor], list[dict]]:
    """Forward and backward of all micro-batches. Outputs on the last stage, and what was reported."""
    outputs = []

    def forward_step_func(data_iterator, chunk):
        x, y = next(data_iterator)

        def loss_func(output):
            outputs.append(output.detach().clone())
            loss = model.loss(output, y)
            return loss, torch.tensor(1), {"lm loss": torch.stack([loss.detach(), torch.ones(())])}

        return chunk(x), loss_func

    reports = run_schedule(forward_step_func, [iter(batches)], chunks, len(batches))
    return outputs, reports


def relative_error(actual: torch.Tensor, expected: torch.Tensor, scale: float | None = None) -> float:
    """Largest difference, as a share of the largest expected value or of `scale`."""
    return (actual - expected).abs().max().item() / (scale or expected.abs().max().item())


def _sum_over_windows(tensor: torch.Tensor) -> torch.Tensor:
    """The gradient, summed over window-parallel ranks as the optimizer does it; none is zero."""
    if tensor.grad is None:
        tensor.grad = torch.zeros_like(tensor)
    dist.all_reduce(tensor.grad, group=mpu.get_context_parallel_group())
    return tensor.grad


def one_pass(model: Case, chunks, plain) -> dict[str, tuple[float, str]]:
    """Largest error of outputs, input gradient and weight gradients, each with the name of the tensor."""
    batches = model.batches(case.MICRO_BATCHES, seed=2)
    for x, _ in batches:
        x.requires_grad_()
    outputs, _ = run_step(model, chunks, batches)
    errors = {"outputs": (0.0, "-"), "input gradient": (0.0, "-"), "weight gradients": (0.0, "-")}
    if mpu.is_pipeline_last_stage():
        pairs = zip(outputs, plain["outputs"], strict=True)
        errors["outputs"] = max((relative_error(*pair), f"micro-batch {i}") for i, pair in enumerate(pairs))
    if mpu.is_pipeline_first_stage():
        pairs = zip([_sum_over_windows(x) for x, _ in batches], plain["input_gradients"], strict=True)
        errors["input gradient"] = max(
            (relative_error(*pair), f"micro-batch {i}") for i, pair in enumerate(pairs)
        )
    rank, size = mpu.get_tensor_model_parallel_rank(), mpu.get_tensor_model_parallel_world_size()
    found = []
    for _, stage in named_stages(chunks):
        cuts = sharding.cuts_of(stage)
        for name, parameter in stage.named_parameters():
            expected = sharding.shard(plain["gradients"][name], cuts.get(name), rank, size, name)
            scale = case.scale_of(name, plain["gradients"])
            found.append((relative_error(_sum_over_windows(parameter), expected, scale), name))
    errors["weight gradients"] = max(found)
    return errors


def loss_curve(model: Case, chunks, plain) -> tuple[float, str]:
    """Largest relative error of the loss over the steps."""
    optimizer = MasterWeightAdamW(
        {n: p for _, stage in named_stages(chunks) for n, p in stage.named_parameters()}
    )
    for group in optimizer.param_groups:
        group["lr"] = model.learning_rate
        group["weight_decay"] = get_args().weight_decay * group.get("wd_mult", 1.0)
    optimizer.zero_grad()
    losses = []
    for step in range(model.steps):
        _, reports = run_step(model, chunks, model.batches(case.STEP_MICRO_BATCHES, seed=100 + step % 3))
        losses.append(world_losses(reports)["lm loss"])
        optimizer.step()
    pairs = zip(losses, plain["losses"], strict=True)
    return max(
        (abs(loss / expected - 1), f"step {i}: {loss:.7f}, plain {expected:.7f}")
        for i, (loss, expected) in enumerate(pairs)
    )


def disagreement_under_dropout(model: Case) -> tuple[float, str]:
    """Largest difference between tensor-parallel ranks with dropout and drop-path on: outputs, and whole
    parameters.
    """
    chunks = build_chunks(provider_of(model))
    process_groups.seed_random_streams(get_args().seed + 100 * mpu.get_pipeline_model_parallel_rank())
    outputs, _ = run_step(model, chunks, model.batches(1, seed=2) * case.MICRO_BATCHES)
    watched = {f"output {index}": output for index, output in enumerate(outputs)}
    for _, stage in named_stages(chunks):
        cuts = sharding.cuts_of(stage)
        watched |= {n: p.grad for n, p in stage.named_parameters() if n not in cuts and p.grad is not None}
    worst = (0.0, "-")
    for name, value in watched.items():
        first = value.clone()
        dist.broadcast(
            first, src=mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group()
        )
        worst = max(worst, ((value - first).abs().max().item(), name))
    if outputs and torch.equal(outputs[0], outputs[1]):
        worst = (1.0, "nothing is dropped: the same input gives the same output twice")
    return worst


def check_layout(folder: Path, layout: str) -> None:
    """Print the verdicts of one layout."""
    tensor, pipeline, window = (*map(int, layout.split("x")), 1)[:3]
    process_groups.initialize_process_groups(
        tensor, pipeline, device="cpu", timeout_minutes=2, window_parallel_size=window
    )
    argv = ["--tensor-model-parallel-size", str(tensor), "--pipeline-model-parallel-size", str(pipeline)]
    argv += ["--window-parallel-size", str(window)]
    parse_args(argv=[*argv, "--clip-grad", str(case.CLIP)])
    for model in case.cases_of(layout):
        check_model(model, folder, layout)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report(f"{layout} memory", (peak, "MiB at the peak"), 1.5e9 / 2**20)
    mpu.destroy_model_parallel()


def check_model(model: Case, folder: Path, layout: str) -> None:
    """Print the verdicts of one model in one layout."""
    plain = torch.load(folder / f"{model.name}.pt", weights_only=True)
    chunks = build_chunks(provider_of(model))
    resume.load_weights(folder / f"{model.name}_weights.pt", chunks)
    with KeepAll():
        results = one_pass(model, chunks, plain)
        results["loss"] = loss_curve(model, chunks, plain)
    limits = {
        "outputs": model.output_tolerance,
        "input gradient": model.gradient_tolerance,
        "weight gradients": model.gradient_tolerance,
        "loss": model.loss_tolerance,
    }
    if mpu.get_tensor_model_parallel_world_size() > 1:
        results["ranks agree under dropout"] = disagreement_under_dropout(model)
        limits["ranks agree under dropout"] = 0.0
    for claim, result in results.items():
        report(f"{layout} {model.name} {claim}", result, limits[claim])


def report(claim: str, result: tuple[float, str], limit: float) -> None:
    """Print whether a claim holds on every rank."""
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, result)
    worst, where = max(everywhere)
    verdict = "passed" if all(error <= limit for error, _ in everywhere) else "failed"
    if dist.get_rank() == 0:
        print(f"{verdict} {claim}: {worst:.3g} of {limit:.3g} ({where})", flush=True)


def main(folder: Path, layouts: list[str]) -> None:
    """Check the layouts one after the other in one world."""
    with stop_world_on_error() as guard:
        for layout in layouts:
            if guard.watch is None:
                process_groups.initialize_process_groups(device="cpu", timeout_minutes=2)
                guard.start_watch(dist.get_rank(), dist.get_world_size())
                mpu.destroy_model_parallel()
            check_layout(folder, layout)
        dist.barrier()
    process_groups.destroy_process_groups()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

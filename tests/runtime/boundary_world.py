"""Every layout that a world of this size has, against the plain model: losses and every gradient.

Run by test_boundary through the launcher. Prints "passed CASE" per case; a failure on any rank fails the case
on all.
"""

import os
import sys
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

from onescience_check.runtime import process_groups
from onescience_check.runtime.checkpoint import resume, sharding
from onescience_check.runtime.core import mpu
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.pipeline.build import build_chunks, named_stages
from onescience_check.runtime.pipeline.communication import communicator_for
from onescience_check.runtime.pipeline.schedule import run_schedule
from onescience_check.runtime.training.arguments import parse_args
from tests.runtime import toy_train

LAYOUTS = {  # world size: (tensor, pipeline, chunks per rank, other flags)
    1: [(1, 1, None), (1, 1, None, "--recompute-granularity", "full")],
    2: [(2, 1, None), (1, 2, None), (1, 2, 2), (1, 2, None, "--recompute-granularity", "full")],
    4: [(1, 4, None), (2, 2, None), (2, 2, 2), (1, 2, None), (2, 1, None)],
    3: [(1, 3, None)],
}
MICRO_BATCHES = 4
# float32 keeps 24 bits. A gradient here is a sum of about 4 * 6 * 16 products, and a layout changes their
# order: the error of reordering n terms grows like sqrt(n) * eps, of the largest gradient in the tensor.
TOLERANCE = (4 * 6 * 16) ** 0.5 * torch.finfo(torch.float32).eps * 4


def main(folder: Path) -> int:
    """Run the cases of this world size. Returns 0 if all pass."""
    size = int(os.environ["WORLD_SIZE"])
    failures = 0
    for tensor, pipeline, virtual, *flags in LAYOUTS[size]:
        name = f"tp{tensor}_pp{pipeline}_vpp{virtual}{''.join(flags)}"
        argv = [
            "--tensor-model-parallel-size",
            str(tensor),
            "--pipeline-model-parallel-size",
            str(pipeline),
            *flags,
        ]
        argv += [] if virtual is None else ["--num-virtual-stages-per-pipeline-rank", str(virtual)]
        process_groups.initialize_process_groups(tensor, pipeline, virtual, device="cpu")
        try:
            verdict = check_layout(argv, folder / f"{name}.pt")
        except Exception:
            verdict = traceback.format_exc()
        verdicts = [None] * size
        dist.all_gather_object(verdicts, verdict)
        if dist.get_rank() == 0:
            problems = [f"rank {rank}: {problem}" for rank, problem in enumerate(verdicts) if problem]
            failures += bool(problems)
            print(f"{'failed' if problems else 'passed'} {name}", *problems, sep="\n  ", flush=True)
        mpu.destroy_model_parallel()
    process_groups.destroy_process_groups()
    return int(failures > 0)


def check_layout(argv: list[str], path: Path) -> str | None:
    """What is wrong with this layout, None if nothing."""
    parse_args({"dataloader_type": "cyclic"}, toy_train.toy_flags, argv)
    torch.manual_seed(7)
    plain = toy_train.PlainToy()
    if dist.get_rank() == 0:
        torch.save(plain.state_dict(), path)
    dist.barrier()
    batches = [toy_train.ToyData()[index] for index in range(MICRO_BATCHES)]
    batches = [(torch.tensor(x)[None], torch.tensor(y)[None]) for x, y in batches]

    losses = []
    for x, y in batches:
        loss = torch.nn.functional.mse_loss(plain(x.float()), y.float())
        (loss / MICRO_BATCHES).backward()
        losses.append(loss.item())
    expected = dict(plain.named_parameters())

    chunks = build_chunks(toy_train.model_provider)
    resume.load_weights(path, chunks)
    if problem := weights_of_another_model(plain, chunks, path.with_suffix(".other.pt")):
        return problem
    iterators = [iter(batches) for _ in chunks]
    communicator = communicator_for(chunks, host_staged=False)
    reports = run_schedule(
        toy_train.forward_step_func, iterators, chunks, MICRO_BATCHES, communicator=communicator
    )

    rank, size = mpu.get_tensor_model_parallel_rank(), mpu.get_tensor_model_parallel_world_size()
    if mpu.is_pipeline_last_stage():
        reported = [(report["lm loss"][0] / report["lm loss"][1]).item() for report in reports]
        if not torch.allclose(torch.tensor(reported), torch.tensor(losses), rtol=TOLERANCE, atol=0):
            return f"losses {reported}, plain {losses}"
    for _, stage in named_stages(chunks):
        cuts = sharding.cuts_of(stage)
        for name, param in stage.named_parameters():
            if param.grad is None:
                return f"{name} has no gradient"
            whole = expected[name].grad
            wanted = sharding.shard(whole, cuts.get(name), rank, size, name)
            error = (param.grad - wanted).abs().max().item()
            if not error <= TOLERANCE * whole.abs().max().item():
                return f"gradient of {name} is off by {error:.3g}, largest {whole.abs().max().item():.3g}"
    return None


def weights_of_another_model(plain: torch.nn.Module, chunks, path: Path) -> str | None:
    """Whether a layer too many is refused on every rank, also where no stage has it."""
    if dist.get_rank() == 0:
        torch.save({**plain.state_dict(), "layer9.weight": torch.zeros(1)}, path)
    dist.barrier()
    try:
        resume.load_weights(path, chunks)
    except UserError as error:
        return None if "weights this model has not: layer9.weight" in str(error) else str(error)
    return "weights of another model were taken"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

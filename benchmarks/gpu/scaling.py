"""Several GPUs at full size, bf16, compiled: tensor, window and pipeline parallelism against one GPU.

launch --nproc-per-node N scaling.py FOLDER LAYOUT ...      writes a FOLDER/scaling_LAYOUT.json for each
"""

import gc
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from onescience_check.reference_models.modules.compiled import compile_parts
from onescience_check.runtime import process_groups
from onescience_check.runtime.core import mpu
from onescience_check.runtime.pipeline.build import build_chunks, named_stages
from onescience_check.runtime.pipeline.captured import CapturedPasses
from onescience_check.runtime.pipeline.communication import communicator_for
from onescience_check.runtime.pipeline.schedule import run_schedule
from onescience_check.runtime.training.optimizer import MasterWeightAdamW

from . import measure, models

MICRO_BATCHES, OF_PIPELINES = (1, 8), (4, 8, 16)
REPEATS = 5


def main(folder: Path, layouts: list[str]) -> None:
    for layout in layouts:
        _measure(folder, layout)
        mpu.destroy_model_parallel()
        torch.compiler.reset()  # what was compiled holds the sizes of the groups it was compiled for
        gc.collect()
        torch.cuda.empty_cache()
    process_groups.destroy_process_groups()


def _measure(folder: Path, layout: str) -> None:
    tensor, pipeline = models.LAYOUTS[layout][:2]
    world = models.LAYOUTS[layout].start("cuda", bf16=True)
    size = models.SIZES[models.LAYOUTS[layout].size]
    chunks = [chunk.to(world.device) for chunk in build_chunks(models.stage_provider(size))]
    for chunk in chunks:
        compile_parts(chunk)
    parameters = {name: p for _, stage in named_stages(chunks) for name, p in stage.named_parameters()}
    optimizer = MasterWeightAdamW(parameters)
    communicator = communicator_for(chunks, world.host_staged)
    pairs = models.batch(size, 1, world.device)

    captured = {}

    def step(count: int) -> float:
        if pipeline == 1 and count not in captured:
            captured.clear()  # the memory of a graph
            captured[count] = CapturedPasses(models.forward_step, chunks, optimizer, pairs[0], count)
        started = _now()
        if pipeline == 1:
            captured[count].run(iter(pairs * count))
        else:
            run_schedule(
                models.forward_step,
                [iter(pairs * count) for _ in chunks],
                chunks,
                count,
                communicator=communicator,
            )
        optimizer.step()
        return _now() - started

    result = {"layout": layout, "parameters": sum(p.numel() for p in parameters.values())}
    for count in MICRO_BATCHES if pipeline == 1 else OF_PIPELINES:
        for _ in range(2):
            step(count)
        torch.cuda.reset_peak_memory_stats()
        times = [step(count) for _ in range(REPEATS)]
        result[f"ms_{count}"] = statistics.median(times) * 1e3
        result[f"spread_{count}"] = (max(times) - min(times)) / statistics.median(times)
        # What a graph holds counts as reserved, not as allocated.
        peak = torch.cuda.max_memory_reserved if pipeline == 1 else torch.cuda.max_memory_allocated
        result[f"peak_gib_{count}"] = peak() / 2**30
    result |= measure.kernel_table(lambda: step(1 if pipeline == 1 else 8))
    if pipeline > 1:
        shapes = chunks[0].shapes
        result["boundary_bytes"] = 2 * shapes.message_shape(1)[2]
    result["all_reduce"] = _all_reduce_rate(size, world.device) if tensor > 1 else None
    everyone = [None] * world.size
    dist.all_gather_object(everyone, result)
    if world.rank == 0:
        (folder / f"scaling_{layout}.json").write_text(json.dumps(everyone))
        for row in everyone:
            print({key: value for key, value in row.items() if key != "kernels"}, flush=True)


def _now() -> float:
    """Host clock with all ranks and their devices at rest."""
    dist.barrier()
    torch.cuda.synchronize()
    return time.perf_counter()


def _all_reduce_rate(size: dict, device) -> dict:
    """Milliseconds of one all-reduce of the fine grid's activation, and GB/s each GPU sends and receives."""
    rows, columns = -(-size["img_size"][0] // 4), -(-size["img_size"][1] // 4)
    x = torch.zeros(8 * rows * columns * size["embed_dim"], dtype=torch.bfloat16, device=device)
    for _ in range(3):
        dist.all_reduce(x)
    started = _now()
    for _ in range(10):
        dist.all_reduce(x)
    seconds = (_now() - started) / 10
    return {"ms": seconds * 1e3, "gigabytes_per_second": x.nbytes / seconds / 1e9}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

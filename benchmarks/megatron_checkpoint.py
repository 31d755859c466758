"""Megatron's dist_checkpointing and DistributedOptimizer on two CPU processes: what docs/runtime.md says of them.

python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.megatron_checkpoint
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from megatron.core import dist_checkpointing, parallel_state, tensor_parallel
from megatron.core.dist_checkpointing.strategies import filesystem_async
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.distributed.checkpoint.api import CheckpointException

from onescience_check.reference_models.models.pipeline_stage import PipelineStage
from onescience_check.runtime import cpu_emulation
from onescience_check.runtime.verify.saving import writing_here

PLACES = 9  # bits that are changed, one after the other


class Layers(PipelineStage):
    """Nine Column layers, 151 MB over both ranks."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.layers = torch.nn.ModuleList(
            tensor_parallel.ColumnParallelLinear(
                1024, 4096, config=config, init_method=torch.nn.init.xavier_normal_, gather_output=False
            )
            for _ in range(9)
        )


def timed(name: str, action) -> object:
    """The result of an action; rank 0 prints its processor seconds."""
    dist.barrier()
    start = time.process_time()
    result = action()
    dist.barrier()
    say(f"{name}: {time.process_time() - start:.2f} processor seconds")
    return result


def say(text: str) -> None:
    """Print on the first rank."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def outcome(load, kept: dict) -> str:
    """What loading damaged files does, the worst of all ranks."""
    try:
        loaded = load()
        found = int(any(not torch.equal(kept[name], loaded[name]) for name in kept))
    except (Exception, CheckpointException) as error:
        say(
            f"  {type(error).__name__}, {len(str(error).splitlines())} lines: {str(error).splitlines()[0][:100]}"
        )
        found = 2
    worst = torch.tensor(found)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    return ("as saved", "other numbers, without a word", "an exception")[int(worst)]


def flip(path: Path, place: int) -> None:
    """Change one bit of a file, on the first rank."""
    if dist.get_rank() == 0:
        with path.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 1]))
    dist.barrier()


def main() -> None:
    """Save and load twice, damage files, and build the optimizer."""
    dist.init_process_group("gloo")
    cpu_emulation.install()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
    config = TransformerConfig(
        num_layers=1,
        hidden_size=64,
        num_attention_heads=4,
        tensor_model_parallel_size=2,
        use_cpu_initialization=True,
    )
    model = Layers(config)
    folders = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folders, src=0)
    root = Path(folders[0])

    def load():
        return dist_checkpointing.load(model.sharded_state_dict(), str(root))

    with writing_here(filesystem_async):
        timed("save", lambda: dist_checkpointing.save(model.sharded_state_dict(), str(root)))
    kept = {name: value.clone() for name, value in timed("load", load).items() if torch.is_tensor(value)}
    largest = max(root.glob("*.distcp"), key=lambda path: path.stat().st_size)
    size = largest.stat().st_size
    for number in range(1, PLACES + 1):
        place = size * number // (PLACES + 1)
        flip(largest, place)
        say(f"a bit at {place} of {size}: {outcome(load, kept)}")
        flip(largest, place)
    if dist.get_rank() == 0:
        os.truncate(largest, size - 100_000)
    dist.barrier()
    say(f"a file cut short: {outcome(load, kept)}")
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(root)
    wrapped = DistributedDataParallel(
        config, DistributedDataParallelConfig(use_distributed_optimizer=True), model
    )
    try:
        get_megatron_optimizer(OptimizerConfig(lr=1e-3, use_distributed_optimizer=True), [wrapped])
    except TypeError as error:
        say(f"DistributedOptimizer: {error}")


if __name__ == "__main__":
    main()

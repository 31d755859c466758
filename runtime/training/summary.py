"""What a run is, before its first step."""

import argparse
from collections.abc import Sequence

import torch.distributed as dist

from ..checkpoint.resume import layout_of
from ..pipeline.build import named_stages
from ..pipeline.chunk import PipelineChunk
from ..process_groups import World


def describe_run(
    args: argparse.Namespace,
    world: World,
    chunks: Sequence[PipelineChunk],
    train_data,
    valid_data,
    start: str,
) -> str:
    """Layout, weights, data and start, a line each. Call it on every rank."""
    from megatron.core import parallel_state

    first = parallel_state.get_tensor_model_parallel_rank() == 0
    mine = counted_here = 0
    for _, stage in named_stages(chunks):
        for param in stage.parameters():
            mine += param.numel()
            if first or getattr(param, "tensor_model_parallel", False):
                counted_here += param.numel()
    counted = parallel_state.get_data_parallel_rank(with_context_parallel=True) == 0
    counts = [None] * world.size
    dist.all_gather_object(counts, (mine, counted_here if counted else 0))
    held = [count for count, _ in counts]
    windows = f" x window-parallel {args.window_parallel_size}" if args.window_parallel_size > 1 else ""
    replicas = parallel_state.get_data_parallel_world_size()
    layout = layout_of(chunks)
    dtype = "bfloat16" if args.bf16 else "float32"
    lines = [
        f"{world.size} process{'es' if world.size > 1 else ''} on {world.device.type} ({world.backend}): {layout}"
        f"{windows} x data-parallel {replicas}, {layout.stages} stage{'s' if layout.stages > 1 else ''}",
        f"weights: {sum(share for _, share in counts):,}, {dtype}; per rank {min(held):,} to {max(held):,}",
        f"data: {len(train_data)} training samples, {args.global_batch_size} in a step"
        + (f"; {len(valid_data)} for validation" if args.eval_interval else ""),
        start,
    ]
    return "\n".join(lines)

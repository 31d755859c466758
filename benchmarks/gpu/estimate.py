"""Memory of a rank from the sizes of the model, to hold against what is measured: the balance table of
``onescience-check report`` times the micro-batches that are under way, plus the parameters.
"""

import math

from onescience_check.reference_models.models.pangu.grids import token_grids

from .models import FULL, LAYOUTS, SIZES

BYTES_PER_PARAMETER = 2 + 4 + 4 + 8  # bf16 weight; float32 master, gradient and two moments
# What a block keeps for backward, in numbers per token and channel: both LayerNorm inputs and outputs, which
# every tensor-parallel rank holds, and q, k, v, mixed values, MLP before and after GELU, which are split.
KEPT_BY_ALL, KEPT_SPLIT = 2 + 2, 3 + 1 + 4 + 4
# Blocks (fine, coarse) of the four stages: see the docstring of pangu_distributed_4stage.
STAGES = ((2, 2), (0, 4), (0, 4), (2, 2))


def activation_gib(stages, size: dict = FULL, tensor: int = 1, window: int = 1) -> float:
    """GiB that one micro-batch leaves behind in the blocks of these stages, on one rank."""
    fine, coarse = (math.prod(grid) / window for grid in token_grids(size["img_size"], size["patch_size"]))
    dim = size["embed_dim"]
    kept = KEPT_BY_ALL + KEPT_SPLIT / tensor
    numbers = sum(STAGES[s][0] * fine * dim + STAGES[s][1] * coarse * 2 * dim for s in stages)
    return numbers * kept * 2 / 2**30


def rank_gib(name: str, pipeline_rank: int, parameters: int) -> float:
    """GiB of a rank at its fullest: parameters and the micro-batches that are under way."""
    layout = LAYOUTS[name]
    ranks, chunks = layout.pipeline, layout.chunks or 1
    later = ranks - pipeline_rank - 1  # ranks behind this one
    if chunks == 1:  # 1F1B
        passes = later + 1
    else:  # interleaved 1F1B warms up with so many passes, and adds one before each backward
        passes = 2 * later + (chunks - 1) * ranks + 1
    held = len(STAGES) // (ranks * chunks)
    total = parameters * BYTES_PER_PARAMETER / 2**30
    for number in range(passes):
        chunk = number // ranks % chunks  # passes go round the chunks in groups of as many as there are ranks
        first = (chunk * ranks + pipeline_rank) * held
        total += activation_gib(range(first, first + held), SIZES[layout.size], layout.tensor, layout.window)
    return total

"""Memory of a rank from the sizes of the model, to hold against what is measured: the balance table of
``onescience-check report`` times the micro-batches that are under way, plus the parameters.
"""

import math

from onescience_check.reference_models.models.pangu.grids import token_grids

from .models import FULL

BYTES_PER_PARAMETER = 2 + 4 + 4 + 8  # bf16 weight; float32 master, gradient and two moments
# What a block keeps for backward, in numbers per token and channel: both LayerNorm inputs and outputs, which
# every tensor-parallel rank holds, and q, k, v, mixed values, MLP before and after GELU, which are split.
KEPT_BY_ALL, KEPT_SPLIT = 2 + 2, 3 + 1 + 4 + 4
# Blocks (fine, coarse) of the four stages: see the docstring of pangu_distributed_4stage.
STAGES = ((2, 2), (0, 4), (0, 4), (2, 2))


def activation_gib(stages, tensor: int = 1) -> float:
    """GiB that one micro-batch leaves behind in the blocks of these stages."""
    fine, coarse = (math.prod(grid) for grid in token_grids(FULL["img_size"], FULL["patch_size"]))
    dim = FULL["embed_dim"]
    kept = KEPT_BY_ALL + KEPT_SPLIT / tensor
    numbers = sum(STAGES[s][0] * fine * dim + STAGES[s][1] * coarse * 2 * dim for s in stages)
    return numbers * kept * 2 / 2**30


def rank_gib(layout: str, rank: int, parameters: int) -> float:
    """GiB of a rank at its fullest: parameters and the micro-batches that are under way."""
    state = parameters * BYTES_PER_PARAMETER / 2**30
    if layout == "one":
        return state + activation_gib(range(4))
    if layout == "tp2":
        return state + activation_gib(range(4), tensor=2)
    if layout == "wp2":  # half of the tokens, all of the weights
        return state + activation_gib(range(4)) / 2
    if layout == "pp2":  # 1F1B: rank r of p holds p - r micro-batches
        return state + (2 - rank) * activation_gib((2 * rank, 2 * rank + 1))
    # Interleaved 1F1B warms up with 2 (p - r - 1) + (chunks - 1) p passes and adds one before each backward.
    passes = 2 * (2 - rank - 1) + 2 + 1
    own = (rank, rank + 2)
    first = min(passes, 2 + (passes > 4))  # passes go round the chunks in groups of p = 2
    return state + first * activation_gib(own[:1]) + (passes - first) * activation_gib(own[1:])

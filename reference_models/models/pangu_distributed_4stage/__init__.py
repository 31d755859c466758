"""Pangu-Weather as four pipeline stages with tensor parallelism inside each.

Where the cuts are. A block costs about tokens * (12 dim^2 + 2 window dim) multiply-adds: at full size 2.59e11
on the fine grid (521,280 tokens, 192 channels) and 2.46e11 on the coarse one (131,040 tokens, 384 channels).
The two kinds cost nearly the same, so equal numbers of blocks are equal work. One layer a stage would give 2,
6, 6 and 2 blocks. Instead the fine layers share their stage with blocks of the coarse ones:

    stage 0   embeddings, layer 1, down-sampling, first (depth2 - depth1) // 2 blocks of layer 2     10.1e11
    stage 1   the rest of layer 2                                                                   9.9e11
    stage 2   layer 3 but for its last (depth3 - depth4) // 2 blocks                                9.9e11
    stage 3   these, up-sampling, layer 4, recovery                                                10.1e11

All cuts lie on the coarse grid, where x has half as many numbers as on the fine one: every boundary carries
x (B, L_coarse, 2C) and the skip connection (B, L_fine, C), and nothing else.
"""

from .pangu_stage0 import Pangu_stage0
from .pangu_stage1 import Pangu_stage1
from .pangu_stage2 import Pangu_stage2
from .pangu_stage3 import Pangu_stage3

__all__ = ["Pangu_stage0", "Pangu_stage1", "Pangu_stage2", "Pangu_stage3"]

"""Xihe as four pipeline stages with tensor parallelism inside each.

Where the cuts are. A transformer block costs about tokens * (12 dim^2 + 2 window dim) multiply-adds, a global part
about tokens * (6 dim^2 + 4 groups dim), embedding and recovery cells * channels * dim each. At full size, in 1e10:

    stage 0   embedding 16.3, block 1 (2 transformer blocks 11.5, 1 global part 3.0), down-sampling 0.9      31.8
    stage 1   block 2 (4 of 5.6, 2.9), the front half of the local parts of block 3 (2 of 5.6)               36.6
    stage 2   the rest of block 3 (2 of 5.6, 2.9), block 4 (4 of 5.6, 2.9)                                   39.5
    stage 3   up-sampling 1.3, block 5 (11.5, 3.0), skip projection 0.9, recovery 16.0                       32.7

Each is within 13 % of the mean. All cuts lie on the coarse grid, where x has half as many numbers as on the fine one:
every boundary carries x (B, L_coarse, 2C) and the skip connection (B, L_fine, C), and nothing else. The masks do not
travel: each stage makes those that it needs from ``mask_full`` by the plain model's ``change_mask``.
"""

from .xihe_stage0 import Xihe_stage0
from .xihe_stage1 import Xihe_stage1
from .xihe_stage2 import Xihe_stage2
from .xihe_stage3 import Xihe_stage3

__all__ = ["Xihe_stage0", "Xihe_stage1", "Xihe_stage2", "Xihe_stage3"]

"""Sizes that the plain model, its pipeline stages and the training scripts share.

A sample has 4 surface variables, 3 constant masks (topography, land-sea, soil type; input only) and 5
upper-air variables on 13 pressure levels. Source: Bi et al. 2023 (Pangu-Weather), Methods, data.
"""

import math

SURFACE_VARIABLES = 4
CONSTANT_MASKS = 3
UPPER_AIR_VARIABLES = 5
PRESSURE_LEVELS = 13

INPUT_CHANNELS = SURFACE_VARIABLES + CONSTANT_MASKS + UPPER_AIR_VARIABLES * PRESSURE_LEVELS
OUTPUT_CHANNELS = SURFACE_VARIABLES + UPPER_AIR_VARIABLES * PRESSURE_LEVELS


def token_levels(depth: int) -> int:
    """Levels of tokens: the surface, and the pressure levels in patches of ``depth``."""
    return 1 + math.ceil(PRESSURE_LEVELS / depth)


def token_grids(img_size, patch_size) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Tokens (pressure, latitude, longitude) of the fine grid (layers 1 and 4) and the coarse one (2 and 3).

    The surface is one more level of tokens below the upper air. (721, 1440) in patches of (2, 4, 4) gives
    (8, 181, 360) and (8, 91, 180).

    Raises:
        ValueError: img_size is not two counts, or patch_size not three.
    """
    if len(img_size) != 2 or len(patch_size) != 3 or min(*img_size, *patch_size) < 1:
        raise ValueError(
            "img_size must be two cell counts of at least 1 (latitude, longitude), patch_size three (pressure, "
            f"latitude, longitude), got {img_size} and {patch_size}"
        )
    levels = token_levels(patch_size[0])
    rows = math.ceil(img_size[0] / patch_size[1])
    columns = math.ceil(img_size[1] / patch_size[2])
    return (levels, rows, columns), (levels, math.ceil(rows / 2), math.ceil(columns / 2))

"""Sizes that the plain model, its pipeline stages and the training scripts share.

A sample has the wind over the sea (2 channels, input only), sea level, sea surface temperature, and 4 variables on 23
depths. Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), data.
"""

import math

FORCING_CHANNELS = 2
OCEAN_CHANNELS = 2 + 4 * 23
INPUT_CHANNELS = FORCING_CHANNELS + OCEAN_CHANNELS
OUTPUT_CHANNELS = OCEAN_CHANNELS


def token_grids(img_size, patch_size) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Tokens (1, latitude, longitude) of the fine grid (blocks 1 and 5) and the coarse one (blocks 2, 3 and 4).

    (2041, 4320) in patches of (6, 12) gives (1, 341, 360) and (1, 171, 180).

    Raises:
        ValueError: img_size or patch_size is not two counts.
    """
    if len(img_size) != 2 or len(patch_size) != 2 or min(*img_size, *patch_size) < 1:
        raise ValueError(
            "img_size and patch_size must be two cell counts of at least 1 (latitude, longitude), got "
            f"{img_size} and {patch_size}"
        )
    rows = math.ceil(img_size[0] / patch_size[0])
    columns = math.ceil(img_size[1] / patch_size[1])
    return (1, rows, columns), (1, math.ceil(rows / 2), math.ceil(columns / 2))

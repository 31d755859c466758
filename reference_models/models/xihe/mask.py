"""The mask of land and ocean: read once, and made coarser for each grid of tokens.

# Y latitude, X longitude (cyclic)
"""

import numpy as np
import torch

from ...modules.padding import pad_grid


def load_mask(mask_full, img_size) -> torch.Tensor | None:
    """The mask as the model wants it: (Y, X) bool, True for ocean; None stays None.

    Args:
        mask_full: path of a .npy file, array or tensor, above 0.5 for ocean; None where there is no land.
        img_size: cells (Y, X) of the fields.

    Raises:
        ValueError: it cannot be read, is of another grid, or has no ocean.
    """
    if mask_full is None:
        return None
    if isinstance(mask_full, str):
        try:
            mask_full = np.load(mask_full)
        except (OSError, ValueError) as error:
            raise ValueError(f"no mask of land and ocean in {mask_full}: {error}") from error
    mask = np.asarray(mask_full) > 0.5
    if tuple(mask.shape) != tuple(img_size):
        raise ValueError(f"the mask has shape {list(mask.shape)}, the fields have {list(img_size)}")
    if not mask.any():
        raise ValueError("the mask has no ocean: 1 (or True) is ocean, 0 is land")
    return torch.as_tensor(mask)


def change_mask(mask: torch.Tensor, resolution) -> torch.Tensor:
    """The mask of a coarser grid: ocean where any cell below is ocean.

    Cells are padded and joined as the embedding and the down-sampling do, so that each token has the mask of its own
    cells.

    mask: (Y, X) bool; resolution: (1, Y', X') of the coarser grid, at which Y / Y' and X / X', rounded up, are joined.
    """
    _, rows, columns = resolution
    high, wide = (-(-size // target) for size, target in zip(mask.shape, (rows, columns), strict=True))
    mask = pad_grid(mask[None], (1, rows * high, columns * wide), dim=0)
    return mask.view(rows, high, columns, wide).any(3).any(1)

"""Training loss of Xihe.

# B batch, C channel, Y latitude, X longitude
"""

import torch


def xihe_loss(output: torch.Tensor, target: torch.Tensor, ocean: torch.Tensor | None = None) -> torch.Tensor:
    """Mean absolute error over the cells of the ocean: a scalar.

    output, target: (B, C, Y, X), normalized to mean 0 and standard deviation 1; ocean: (Y, X) bool, None for all cells.
    """
    error = (output - target).abs().mean(dim=(0, 1))
    return error.mean() if ocean is None else (error * ocean).sum() / ocean.sum()

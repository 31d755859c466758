"""Training loss of Pangu-Weather.

# B batch, Y latitude, X longitude
"""

import torch

from .grids import PRESSURE_LEVELS, SURFACE_VARIABLES

# In the order of the channels. Source: Bi et al. 2023 (Pangu-Weather), Methods, training details.
SURFACE_WEIGHTS = (1.50, 0.77, 0.66, 3.00)  # mean sea level pressure, 10 m wind u and v, 2 m temperature
UPPER_AIR_WEIGHTS = (
    3.00,
    0.60,
    1.50,
    0.77,
    0.54,
)  # geopotential, specific humidity, temperature, wind u and v
SURFACE_SHARE = 0.25  # weight of the surface beside the upper air


def pangu_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean absolute error, weighted by variable: a scalar.

    output, target: (B, 4 surface + 5 x 13 upper air, Y, X), normalized to mean 0 and standard deviation 1.
    """
    error = (output - target).abs().mean(dim=(0, 2, 3))
    surface, upper_air = (
        error[:SURFACE_VARIABLES],
        error[SURFACE_VARIABLES:].unflatten(0, (-1, PRESSURE_LEVELS)),
    )
    # Numbers of the host one by one: a tensor of them would make the host wait for the GPU at every step.
    surface_loss = _weighted_mean(surface, SURFACE_WEIGHTS)
    upper_air_loss = _weighted_mean(upper_air.mean(dim=1), UPPER_AIR_WEIGHTS)
    return SURFACE_SHARE * surface_loss + upper_air_loss


def _weighted_mean(errors: torch.Tensor, weights: tuple[float, ...]) -> torch.Tensor:
    return sum(weight * error for weight, error in zip(weights, errors, strict=True)) / len(weights)

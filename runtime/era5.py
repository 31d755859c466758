"""ERA5-shaped data in HDF5: one file per year, statistics, static masks.

    ROOT/data/2000.h5            data set "fields" (T, C, Y, X) float32, attribute "channels": C names
    ROOT/stats/global_means.npy  (1, C, 1, 1), and global_stds.npy
    ROOT/static/land_mask.npy    (Y, X), and topography.npy, soil_type.npy

Rows go from north to south, columns from 0 degrees eastward. C is 4 surface variables, then 5 upper-air
variables on 13 pressure levels each.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .fields import YearlyFields

LEVELS = (1000, 925, 850, 700, 600, 500, 400, 300, 250, 200, 150, 100, 50)  # hPa
SURFACE = (
    "mean_sea_level_pressure",  # Pa
    "10m_u_component_of_wind",  # m/s
    "10m_v_component_of_wind",  # m/s
    "2m_temperature",  # K
)
UPPER_AIR = (
    "geopotential",  # m2/s2
    "specific_humidity",  # kg/kg
    "temperature",  # K
    "u_component_of_wind",  # m/s
    "v_component_of_wind",  # m/s
)
CHANNELS = SURFACE + tuple(f"{variable}_{level}" for variable in UPPER_AIR for level in LEVELS)
MASKS = ("land_mask", "topography", "soil_type")


class ERA5Dataset(YearlyFields):
    """Pairs (state and masks now, state later), normalized to mean 0 and standard deviation 1 per channel.

    Sample: input (4 surface + 3 masks + 65 upper air, Y, X) and target (4 + 65, Y, X), float32 arrays.

    Args:
        root: folder as above.
        years: years to take; a pair lies within one year.
        lead: steps between input and target.
        channels: names to take, in this order; masks go behind those of `SURFACE`.

    Raises:
        UserError: a file is missing, cut short, or does not match the others.
    """

    def __init__(
        self, root: str | Path, years: Sequence[int], lead: int = 1, channels: Sequence[str] = CHANNELS
    ) -> None:
        super().__init__(root, years, lead, channels, "onescience_check.runtime.era5_generator")
        self.num_surface = sum(name in SURFACE for name in channels)
        masks = [self.array(f"static/{name}.npy", self.img_size) for name in MASKS]
        self.masks = np.stack([_standardized(mask) for mask in masks])

    def model_input(self, path: Path, time: int, forecast: np.ndarray | None = None) -> np.ndarray:
        """The state with the masks between surface and upper air."""
        state = super().model_input(path, time, forecast)
        return np.concatenate([state[: self.num_surface], self.masks, state[self.num_surface :]])


def _standardized(mask: np.ndarray) -> np.ndarray:
    deviation = mask.std()
    return (mask - mask.mean()) / (deviation if deviation > 0 else 1.0)

"""Ocean data as the Copernicus Marine Service has them, in HDF5: one file per year, statistics, the mask.

    ROOT/data/2000.h5            data set "fields" (T, C, Y, X) float32, attribute "channels": C names; land may be NaN
    ROOT/stats/global_means.npy  (1, C, 1, 1) over the ocean, and global_stds.npy
    ROOT/static/ocean_mask.npy   (Y, X), 1 for ocean and 0 for land

Rows go from north to south, columns from 0 degrees eastward. C is the wind over the sea, sea level, sea surface
temperature, then 4 variables on 23 depths each.
"""

from collections.abc import Sequence
from pathlib import Path

from .fields import YearlyFields

DEPTHS = (
    *(
        0.5,
        2.7,
        5.1,
        7.9,
        11.4,
        15.8,
        21.6,
        29.4,
        40.3,
        55.8,
        77.9,
        92.3,
        109.7,
        130.7,
        155.9,
        186.1,
        222.5,
        266.0,
    ),
    *(318.1, 380.2, 453.9, 541.1, 643.6),
)  # m
FORCING = ("10m_u_component_of_wind", "10m_v_component_of_wind")  # m/s
SURFACE = ("sea_surface_height", "sea_surface_temperature")  # m, degrees Celsius
PROFILES = (
    "temperature",
    "salinity",
    "eastward_velocity",
    "northward_velocity",
)  # degrees Celsius, g/kg, m/s
CHANNELS = FORCING + SURFACE + tuple(f"{name}_{depth}" for name in PROFILES for depth in DEPTHS)


class CMEMSDataset(YearlyFields):
    """Pairs (wind and ocean now, ocean later), normalized to mean 0 and standard deviation 1 per channel, 0 on land.

    Sample: input (2 wind + 2 surface + 92, Y, X) and target (2 + 92, Y, X), float32 arrays.

    Args:
        root: folder as above.
        years: years to take; a pair lies within one year.
        lead: steps between input and target.

    Raises:
        UserError: a file is missing, cut short, or does not match the others.
    """

    def __init__(self, root: str | Path, years: Sequence[int], lead: int = 1) -> None:
        super().__init__(root, years, lead, CHANNELS, "onescience_check.runtime.cmems_generator")
        self.valid = self.array("static/ocean_mask.npy", self.img_size) > 0.5
        self.num_forcing = len(FORCING)

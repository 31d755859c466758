"""Make ocean-shaped data to try a training with: fields that follow the weather above them, and are no ocean.

    python -m onescience_check.runtime.cmems_generator data/cmems --years 2000 2001 --img-size 96 192 --times 40

Winds and continents are those of `era5_generator`. Sea level yields to air pressure (the inverse barometer, 1 cm for 1
hPa), currents follow the wind (3 % of it, turned by 45 degrees at the surface and weaker with depth: Ekman 1905), and
temperature falls off below a mixed layer. So a later sample can be predicted from an earlier one.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .cmems import CHANNELS, DEPTHS
from .era5_generator import Planet
from .generator import check_sizes, run, write_fields

_EKMAN_DEPTH, _MIXED_DEPTH = 80.0, 200.0  # m


def ocean_state(planet: Planet, hours: float) -> np.ndarray:
    """All channels (C, Y, X) of `CHANNELS`, `hours` after the start of the year; NaN on land."""
    pressure, wind_u, wind_v, ground = planet.state(hours)[:4]
    depth = np.array(DEPTHS)[:, None, None]
    sea_level = (1.012e5 - pressure) * 1e-4
    surface = np.maximum(ground - 273.15, -1.8)
    temperature = 4.0 + (surface - 4.0) * np.exp(-((depth / _MIXED_DEPTH) ** 2))
    salinity = 34.7 + 0.05 * (surface - 15.0) * np.exp(-depth / _MIXED_DEPTH) + 0.2 * sea_level
    turn = np.sign(planet.latitude) * (np.pi / 4 + depth / _EKMAN_DEPTH)  # to the right in the north
    speed = 0.03 * np.exp(-depth / _EKMAN_DEPTH)
    current_u = speed * (wind_u * np.cos(turn) + wind_v * np.sin(turn))
    current_v = speed * (wind_v * np.cos(turn) - wind_u * np.sin(turn))
    fields = np.concatenate(
        [np.stack([wind_u, wind_v, sea_level, surface]), temperature, salinity, current_u, current_v]
    )
    return np.where(planet.land > 0, np.nan, fields).astype(np.float32)


def generate(root: Path, years: Sequence[int], img_size: tuple[int, int], times: int, seed: int) -> None:
    """Write a data folder as `cmems` describes; it appears only when it is complete.

    Raises:
        UserError: `root` exists, or the sizes make no sense.
    """
    check_sizes(years, img_size, times)
    planet = Planet(img_size, seed)
    static = {"ocean_mask": 1 - planet.land}
    write_fields(root, years, img_size, times, CHANNELS, lambda hours: ocean_state(planet, hours), static)


def main(argv: Sequence[str] | None = None) -> int:
    """Generate as the command line says; 0 if done, 1 with a message if not."""
    return run(generate, "onescience_check.runtime.cmems_generator", __doc__.split("\n")[0], argv)


if __name__ == "__main__":
    sys.exit(main())

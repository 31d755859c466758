"""Make ERA5-shaped data to try a training with: fields that look and move like weather, and are none.

    python -m onescience_check.runtime.era5_generator data/era5 --years 2000 2001 --img-size 32 64 --times 40

Planetary waves travel in a stream function; winds follow from it by geostrophy, temperature by the thermal
wind, geopotential from temperature by hydrostatic balance, humidity from temperature by Clausius-Clapeyron
(Holton and Hakim, An Introduction to Dynamic Meteorology, chapters 1 to 3). So channels of one sample are
consistent with each other, and a later sample can be predicted from an earlier one.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .era5 import CHANNELS, LEVELS, MASKS
from .generator import check_sizes, run, write_fields

_RADIUS, _OMEGA = 6.371e6, 7.292e-5  # m, 1/s
_GAS, _GRAVITY = 287.0, 9.81  # J/kg/K, m/s2
_LOG_P = np.log(np.array(LEVELS) / 1000.0)  # of pressure over 1000 hPa


class Planet:
    """A made-up planet: its ground, and waves with given wave numbers, phases and speeds.

    Args:
        img_size: rows and columns (Y, X).
        seed: of everything random.
    """

    def __init__(self, img_size: tuple[int, int], seed: int) -> None:
        rows, columns = img_size
        random = np.random.default_rng(seed)
        self.latitude = np.deg2rad(np.linspace(90, -90, rows))[:, None]
        self.longitude = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None, :]
        self.topography = self._ground(random)
        self.land = (self.topography > 0).astype(np.float32)
        self.soil = np.where(self.land > 0, 1 + np.floor(6 * _unit(np.sin(3 * self.topography / 500))), 0)
        self.waves = [
            (
                number,
                random.uniform(0, 2 * np.pi),
                random.uniform(16, 40) * 1e6 / number,
                random.uniform(2, 12),
            )
            for number in range(1, 9)
        ]  # zonal wave number, phase, amplitude in m2/s, eastward speed in m/s at 45 degrees

    def state(self, hours: float) -> np.ndarray:
        """All channels (C, Y, X) of `CHANNELS`, `hours` after the start of the year."""
        cos_lat = np.cos(self.latitude)
        coriolis = 2 * _OMEGA * np.sin(self.latitude)
        psi, d_psi_north, d_psi_east = self._stream_function(hours)
        # Waves grow with height up to the tropopause: the factor at each level, and its slope in
        # log-pressure.
        growth = 0.5 + np.minimum(-_LOG_P, 1.6)[:, None, None]
        slope = np.where(-_LOG_P < 1.6, -1.0, 0.0)[:, None, None]
        jet = 30.0 * growth * np.sin(2 * self.latitude) ** 2 * cos_lat
        wind_u = jet - growth * d_psi_north
        wind_v = growth * d_psi_east

        season = np.sin(2 * np.pi * hours / 8766.0)
        day = np.cos(self.longitude - 2 * np.pi * (hours % 24) / 24 + np.pi)
        ground = 300.0 - 45.0 * np.sin(self.latitude - 0.15 * season) ** 2
        ground = ground + self.land * (4.0 * day * cos_lat - 8.0 * season * np.sin(self.latitude))
        ground = ground - 0.0065 * np.maximum(self.topography, 0)
        height = -7.5e3 * _LOG_P[:, None, None]
        temperature = np.maximum(ground - 0.0065 * height, 205.0 + 10 * np.sin(self.latitude) ** 2)
        temperature = temperature - coriolis / _GAS * slope * psi  # thermal wind
        sea_level_pressure = 1.012e5 + 1.2 * coriolis * 0.5 * psi

        geopotential = np.empty_like(temperature)
        geopotential[0] = _GAS * temperature[0] * np.log(sea_level_pressure / 1e5)
        for level in range(1, len(LEVELS)):
            mean = 0.5 * (temperature[level] + temperature[level - 1])
            geopotential[level] = geopotential[level - 1] - _GAS * mean * (_LOG_P[level] - _LOG_P[level - 1])

        celsius = temperature - 273.15
        saturation = 611.2 * np.exp(17.67 * celsius / np.maximum(celsius + 243.5, 50.0))  # Pa, Bolton 1980
        pressure = np.array(LEVELS)[:, None, None] * 100.0
        relative = np.clip(0.75 + 1.5e-8 * psi, 0.2, 1.0) * np.exp(0.8 * _LOG_P)[:, None, None]
        humidity = relative * 0.622 * saturation / np.maximum(pressure - saturation, saturation)

        drag = 0.8 - 0.3 * self.land
        surface = [sea_level_pressure, drag * wind_u[0], drag * wind_v[0], np.broadcast_to(ground, psi.shape)]
        upper_air = [geopotential, humidity, temperature, wind_u, wind_v]
        return np.concatenate([np.stack(surface), *upper_air]).astype(np.float32)

    def _stream_function(self, hours: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stream function in m2/s, and its northward and eastward derivatives in m/s."""
        cos_lat, sin_lat = np.cos(self.latitude), np.sin(self.latitude)
        psi = north = east = np.zeros((self.latitude.size, self.longitude.size))
        for number, phase, amplitude, speed in self.waves:
            shift = speed * hours * 3600 / (_RADIUS * np.cos(np.pi / 4))
            angle = number * (self.longitude - shift) + phase
            # cos^2 keeps the wave and its eastward derivative finite at the poles.
            shape = amplitude * cos_lat**2 * sin_lat
            psi = psi + shape * np.cos(angle)
            slope = amplitude * (cos_lat**3 - 2 * cos_lat * sin_lat**2)
            north = north + slope * np.cos(angle) / _RADIUS
            east = east - number * amplitude * cos_lat * sin_lat * np.sin(angle) / _RADIUS
        return psi, north, east

    def _ground(self, random: np.random.Generator) -> np.ndarray:
        """Height in m above the sea; below 0 is sea floor."""
        height = np.zeros((self.latitude.size, self.longitude.size))
        for number in range(1, 7):
            for wave in range(1, 7):
                phase_x, phase_y = random.uniform(0, 2 * np.pi, 2)
                pattern = np.cos(number * self.longitude + phase_x) * np.cos(wave * self.latitude + phase_y)
                height += pattern * np.cos(self.latitude) / np.hypot(number, wave)
        return (height - np.quantile(height, 0.7)) / height.std() * 800.0


def generate(root: Path, years: Sequence[int], img_size: tuple[int, int], times: int, seed: int) -> None:
    """Write a data folder as `era5` describes; it appears only when it is complete.

    Raises:
        UserError: `root` exists, or the sizes make no sense.
    """
    check_sizes(years, img_size, times)
    planet = Planet(img_size, seed)
    static = dict(zip(MASKS, (planet.land, planet.topography, planet.soil), strict=True))
    write_fields(root, years, img_size, times, CHANNELS, planet.state, static)


def main(argv: Sequence[str] | None = None) -> int:
    """Generate as the command line says; 0 if done, 1 with a message if not."""
    return run(generate, "onescience_check.runtime.era5_generator", __doc__.split("\n")[0], argv)


def _unit(values: np.ndarray) -> np.ndarray:
    return (values + 1) / 2 * (1 - 1e-9)


if __name__ == "__main__":
    sys.exit(main())

"""ERA5-shaped data in HDF5: one file per year, statistics, static masks.

    ROOT/data/2000.h5            data set "fields" (T, C, Y, X) float32, attribute "channels": C names
    ROOT/stats/global_means.npy  (1, C, 1, 1), and global_stds.npy
    ROOT/static/land_mask.npy    (Y, X), and topography.npy, soil_type.npy

Rows go from north to south, columns from 0 degrees eastward. C is 4 surface variables, then 5 upper-air
variables on 13 pressure levels each.
"""

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from torch.utils.data import Dataset

from .errors import UserError

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


class ERA5Dataset(Dataset):
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
        self.root, self.lead = Path(root), lead
        if not self.root.is_dir():
            raise UserError(
                f"no data folder {root}: python -m onescience_check.runtime.era5_generator makes one to try"
            )
        if lead < 1 or not years:
            raise UserError("ERA5Dataset needs at least one year and a lead of 1 or more steps")
        self.paths = [self.root / "data" / f"{year}.h5" for year in years]
        shapes, names = zip(*(_inspect(path) for path in self.paths), strict=True)
        for path, shape, own in zip(self.paths, shapes, names, strict=True):
            if shape[1:] != shapes[0][1:] or own != names[0]:
                raise UserError(f"{path} has other channels or another grid than {self.paths[0]}")
            if shape[0] <= lead:
                raise UserError(f"{path} has {shape[0]} times, too few for a lead of {lead}")
        if unknown := [name for name in channels if name not in names[0]]:
            raise UserError(
                f"{self.paths[0]} has no channel {unknown[0]}: it has {', '.join(names[0][:5])} ..."
            )
        self.img_size = shapes[0][2:]
        self.lengths = [shape[0] - lead for shape in shapes]
        self.columns = np.array([names[0].index(name) for name in channels])
        self.num_surface = sum(name in SURFACE for name in channels)
        count = len(names[0])
        self.means = self._array("stats/global_means.npy", (1, count, 1, 1))[0, self.columns]
        self.stds = self._array("stats/global_stds.npy", (1, count, 1, 1))[0, self.columns]
        if not (self.stds > 0).all():
            raise UserError(
                f"{self.root}/stats/global_stds.npy holds a standard deviation that is not above 0"
            )
        masks = [self._array(f"static/{name}.npy", self.img_size) for name in MASKS]
        self.masks = np.stack([_standardized(mask) for mask in masks])
        self._files: dict[Path, h5py.File] = {}

    def __len__(self) -> int:
        return sum(self.lengths)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        file = 0
        while index >= self.lengths[file]:
            index -= self.lengths[file]
            file += 1
        now, later = self._frame(self.paths[file], index), self._frame(self.paths[file], index + self.lead)
        surface, upper_air = now[: self.num_surface], now[self.num_surface :]
        return np.concatenate([surface, self.masks, upper_air]), later

    def __getstate__(self) -> dict:
        # Open files do not travel to loader processes; each opens its own.
        return {**self.__dict__, "_files": {}}

    def _frame(self, path: Path, time: int) -> np.ndarray:
        try:
            if path not in self._files:
                self._files[path] = h5py.File(path, "r")
            frame = self._files[path]["fields"][time]
        except (OSError, KeyError) as error:
            raise UserError(f"{path}: time {time} cannot be read ({error}): copy the file again") from error
        return (frame[self.columns].astype(np.float32) - self.means) / self.stds

    def _array(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        path = self.root / name
        try:
            array = np.load(path, allow_pickle=False)
        except FileNotFoundError:
            raise UserError(f"no file {path}") from None
        except (OSError, ValueError, EOFError) as error:
            raise UserError(f"{path} cannot be read ({error}): copy it again") from None
        if array.shape != tuple(shape):
            raise UserError(f"{path} has shape {list(array.shape)}, the data want {list(shape)}")
        return array.astype(np.float32)


def _inspect(path: Path) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Shape and channel names of one year."""
    if not path.is_file():
        found = sorted(other.stem for other in path.parent.glob("*.h5")) if path.parent.is_dir() else []
        raise UserError(
            f"no data file {path}: " + (f"there are {', '.join(found)}" if found else "the folder has none")
        )
    try:
        with h5py.File(path, "r") as file:
            fields = file["fields"]
            shape, names = fields.shape, tuple(str(name) for name in fields.attrs["channels"])
    except OSError as error:
        raise UserError(f"{path} is damaged or cut short ({error}): copy it again") from None
    except KeyError:
        raise UserError(f'{path} has no data set "fields" with an attribute "channels"') from None
    if len(shape) != 4 or shape[1] != len(names):
        raise UserError(
            f"{path}: fields of shape {list(shape)} do not fit {len(names)} channel names (T, C, Y, X)"
        )
    return shape, names


def _standardized(mask: np.ndarray) -> np.ndarray:
    deviation = mask.std()
    return (mask - mask.mean()) / (deviation if deviation > 0 else 1.0)

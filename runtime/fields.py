"""Fields of a model's data in HDF5: one file per year, and statistics.

    ROOT/data/2000.h5            data set "fields" (T, C, Y, X) float32, attribute "channels": C names
    ROOT/stats/global_means.npy  (1, C, 1, 1), and global_stds.npy

Rows go from north to south, columns from 0 degrees eastward.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
from torch.utils.data import Dataset

from .errors import UserError
from .yparams import SIZE, YParams

DATASET_KEYS = {
    "data_dir": str,
    "img_size": [SIZE] * 2,
    "train_time": [int],
    "val_time": [int],
    "test_time": [int],
    "lead": SIZE,
}


class YearlyFields(Dataset):
    """Pairs of the state now and the state later, normalized to mean 0 and standard deviation 1 per channel.

    Args:
        root: folder as above.
        years: years to take; a pair lies within one year.
        lead: steps between input and target.
        channels: names to take, in this order.
        generator: module that makes such data to try.

    Raises:
        UserError: a file is missing, cut short, or does not match the others.
    """

    def __init__(
        self, root: str | Path, years: Sequence[int], lead: int, channels: Sequence[str], generator: str
    ) -> None:
        self.root, self.lead = Path(root), lead
        if not self.root.is_dir():
            raise UserError(f"no data folder {root}: python -m {generator} makes one to try")
        if lead < 1 or not years:
            raise UserError(f"{type(self).__name__} needs at least one year and a lead of 1 or more steps")
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
        self.times = [shape[0] for shape in shapes]
        self.lengths = [times - lead for times in self.times]
        self.channels = tuple(channels)
        self.columns = np.array([names[0].index(name) for name in channels])
        count = len(names[0])
        self.means = self.array("stats/global_means.npy", (1, count, 1, 1))[0, self.columns]
        self.stds = self.array("stats/global_stds.npy", (1, count, 1, 1))[0, self.columns]
        if not (self.stds > 0).all():
            raise UserError(
                f"{self.root}/stats/global_stds.npy holds a standard deviation that is not above 0"
            )
        self.valid = np.ones(self.img_size, dtype=bool)  # cells that hold numbers
        self.latitudes = np.linspace(90, -90, self.img_size[0])
        self.num_forcing = 0  # the first channels, which a model is given and does not predict
        self._files: dict[Path, h5py.File] = {}

    def __len__(self) -> int:
        return sum(self.lengths)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        path, time = self.place(index)
        return self.model_input(path, time), self.truth(path, time + self.lead)

    def model_input(self, path: Path, time: int, forecast: np.ndarray | None = None) -> np.ndarray:
        """What a model gets: the state at a time, of which `forecast` is what was predicted."""
        state = self.state(path, time)
        if forecast is not None:
            state[self.num_forcing :] = np.where(self.valid, forecast, np.float32(0))
        return state

    def truth(self, path: Path, time: int) -> np.ndarray:
        """What a model should predict for a time."""
        return self.state(path, time)[self.num_forcing :]

    def state(self, path: Path, time: int) -> np.ndarray:
        """The state at a time, (C, Y, X), normalized; 0 where nothing is valid."""
        frame = self._frame(path, time)
        return frame if self.valid.all() else np.where(self.valid, frame, np.float32(0))

    @property
    def target_channels(self) -> tuple[str, ...]:
        """Names of what a model predicts."""
        return self.channels[self.num_forcing :]

    @property
    def target_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of that, (C, 1, 1) each."""
        return self.means[self.num_forcing :], self.stds[self.num_forcing :]

    def starts(self, steps: int) -> list[tuple[Path, int]]:
        """File and time of all states that have so many leads behind them in their file."""
        spans = zip(self.paths, self.times, strict=True)
        return [(path, time) for path, times in spans for time in range(times - steps * self.lead)]

    def place(self, index: int) -> tuple[Path, int]:
        """File and time of a sample's state now."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        file = 0
        while index >= self.lengths[file]:
            index -= self.lengths[file]
            file += 1
        return self.paths[file], index

    def bad_values(self, index: int) -> str | None:
        """File, time and channel of the first value of a sample that is not a finite number, None if all are."""
        path, first = self.place(index)
        for time in (first, first + self.lead):
            bad = ~np.isfinite(self._frame(path, time)) & self.valid
            if bad.any():
                channel, row, column = (int(place[0]) for place in np.nonzero(bad))
                where, many = f"{path}, time {time}, channel {self.channels[channel]}", bad[channel].sum()
                if many == 1:
                    return f"{where}: 1 value is not finite, in row {row}, column {column}"
                return f"{where}: {many} values are not finite, the first in row {row}, column {column}"
        return None

    def __getstate__(self) -> dict:
        # Open files do not travel to loader processes; each opens its own.
        return {**self.__dict__, "_files": {}}

    def _frame(self, path: Path, time: int) -> np.ndarray:
        try:
            if path not in self._files:
                self._files[path] = h5py.File(path, "r")
            fields = self._files[path]["fields"]
            frame = np.empty(fields.shape[1:], np.float32)  # 300 MB at 0.25 degrees: no copy more than needed
            fields.read_direct(frame, np.s_[time])
        except (OSError, KeyError, IndexError, ValueError) as error:
            raise UserError(
                f"{path}: time {time} cannot be read ({error}): has it shrunk? Copy the file again"
            ) from error
        if not np.array_equal(self.columns, range(len(frame))):
            frame = frame[self.columns]
        frame -= self.means
        frame /= self.stds
        return frame

    def array(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers in a file of the folder, which must be of this shape."""
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


def yearly_splits(
    dataset_class: type[YearlyFields], path: str, sections: Mapping[str, Mapping[str, object]]
) -> tuple[YearlyFields, YearlyFields, YearlyFields]:
    """Training, validation and test data by the section "dataset" of a YAML file.

    Args:
        dataset_class: what reads the fields, from folder, years and lead.
        path: the file.
        sections: all that it may hold, as `YParams` wants them.

    Raises:
        UserError: the data are not there, or not of the grid in the file.
    """
    cfg = YParams(path, "dataset", sections)
    years = (cfg.train_time, cfg.val_time, cfg.test_time)
    train, valid, test = (dataset_class(cfg.data_dir, own, cfg.lead) for own in years)
    if list(train.img_size) != cfg.img_size:
        raise UserError(
            f"{path}: img_size is {cfg.img_size}, but the fields in {cfg.data_dir} have {list(train.img_size)} rows "
            "and columns"
        )
    return train, valid, test


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

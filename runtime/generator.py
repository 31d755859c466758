"""Write made-up data as `fields` describes them, and the command line of what makes them up."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from .errors import UserError
from .language import local

HOURS = 6.0  # between two times


def write_fields(
    root: Path,
    years: Sequence[int],
    img_size: tuple[int, int],
    times: int,
    channels: Sequence[str],
    state: Callable[[float], np.ndarray],
    static: Mapping[str, np.ndarray],
) -> None:
    """Write a data folder; it appears only when it is complete.

    Args:
        root: folder to make.
        years: one file each.
        img_size: rows and columns (Y, X).
        times: of each year.
        channels: C names.
        state: all channels (C, Y, X), so many hours after the start of year 0. NaN is left out of the statistics.
        static: arrays (Y, X) by name.

    Raises:
        UserError: `root` exists.
    """
    if root.exists():
        raise UserError(f"{root} exists and is left alone: choose another folder")
    draft = root.with_name(f".{root.name}.incomplete")
    shutil.rmtree(draft, ignore_errors=True)
    for folder in ("data", "stats", "static"):
        (draft / folder).mkdir(parents=True)
    total = squares = np.zeros(len(channels))
    for year in years:
        with h5py.File(draft / "data" / f"{year}.h5", "w") as file:
            shape = (times, len(channels), *img_size)
            fields = file.create_dataset("fields", shape, "f4", chunks=(1, *shape[1:]))
            fields.attrs["channels"] = list(channels)
            for time in range(times):
                frame = state((year % 100) * 8766.0 + time * HOURS)
                fields[time] = frame
                total = total + np.nanmean(frame, axis=(1, 2), dtype=np.float64)
                squares = squares + np.nanmean(np.square(frame, dtype=np.float64), axis=(1, 2))
    mean = total / (times * len(years))
    deviation = np.sqrt(np.maximum(squares / (times * len(years)) - mean**2, 1e-24))
    for name, values in (("global_means", mean), ("global_stds", deviation)):
        np.save(draft / "stats" / f"{name}.npy", values.reshape(1, -1, 1, 1).astype(np.float32))
    for name, values in static.items():
        np.save(draft / "static" / f"{name}.npy", values.astype(np.float32))
    os.rename(draft, root)


def check_sizes(years: Sequence[int], img_size: tuple[int, int], times: int) -> None:
    """Raise UserError unless the sizes make sense."""
    if min(img_size) < 2 or times < 2 or not years:
        raise UserError("at least 2 rows, 2 columns, 2 times and 1 year are needed")


def run(generate: Callable, module: str, description: str, argv: Sequence[str] | None = None) -> int:
    """Generate as the command line says; 0 if done, 1 with a message if not.

    Args:
        generate: ``(root, years, img_size, times, seed)``.
        module: name of the module that the user runs.
        description: what it makes, in a line.
        argv: the words, those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("root", type=Path, help="folder to make")
    parser.add_argument("--years", type=int, nargs="+", default=[2000, 2001], help="default: 2000 2001")
    parser.add_argument("--img-size", type=int, nargs=2, default=[32, 64], metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--times", type=int, default=40, help="times per year, six hours apart (default: 40)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    try:
        generate(options.root, options.years, tuple(options.img_size), options.times, options.seed)
    except (UserError, OSError) as error:
        print(local(f"error: {error}"), file=sys.stderr)
        return 1
    print(local(f"wrote {options.root}: {len(options.years)} years of {options.times} times"))
    return 0

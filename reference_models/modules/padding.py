"""The one padding rule of the Latitude-Longitude grid, shared by embedding, windows, sampling and recovery.

Missing cells are split evenly over both ends of an axis, the odd one at the far end. Pressure and latitude
end at the model top, the surface and the poles, so they are padded with zeros. Longitude is a circle: its
padding repeats the cells from the other side, so that no seam appears at the date line.
"""

import torch
from torch.nn import functional as F


def split_padding(size: int, target: int) -> tuple[int, int]:
    """Cells added before and after an axis of ``size`` cells so that it has ``target`` cells."""
    if target < size:
        raise ValueError(f"an axis of {size} cells cannot be padded to {target}; crop_grid makes it smaller")
    before = (target - size) // 2
    return before, target - size - before


def round_up(resolution, multiple) -> tuple[int, ...]:
    """Smallest resolution that holds ``resolution`` and is a multiple of ``multiple``, axis by axis."""
    return tuple(-(-size // step) * step for size, step in zip(resolution, multiple, strict=True))


def pad_grid(x: torch.Tensor, resolution, dim: int) -> torch.Tensor:
    """Grow the three axes (pressure, latitude, longitude) that start at ``dim`` to ``resolution``.

    x: (..., P, Y, X, ...) with P at ``dim``. Returns x itself where nothing is missing.
    """
    (front, back), (north, south), (west, east) = (
        split_padding(x.shape[dim + axis], target) for axis, target in enumerate(resolution)
    )
    if front or back or north or south:
        inner_axes = x.ndim - dim - 2  # F.pad counts axes from the last one
        x = F.pad(x, (0, 0) * inner_axes + (north, south, front, back))
    if west or east:
        width = x.shape[dim + 2]
        columns = torch.arange(-west, width + east, device=x.device) % width
        x = x.index_select(dim + 2, columns)
    return x


def crop_grid(x: torch.Tensor, resolution, dim: int) -> torch.Tensor:
    """Undo ``pad_grid``: cut the three axes that start at ``dim`` back to ``resolution`` (a view)."""
    for axis, size in enumerate(resolution):
        before, _ = split_padding(size, x.shape[dim + axis])
        x = x.narrow(dim + axis, before, size)
    return x

"""Cutting the latitude-longitude grid into attention windows, and the shift between successive blocks.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
# nP, nY, nX windows along an axis; wP, wY, wX cells of a window along an axis
# N = wP * wY * wX tokens in a window, T = nP * nY window types (windows of one type differ in longitude only)

A window tensor is (B * nX, N * T, C): the token index inside a window is the slow one. Heads then follow T
without a gap in memory, so that q, k and v are views of their projections (see window_attention.py).
"""

from dataclasses import dataclass

import torch

from ..padding import crop_grid, pad_grid, round_up, split_padding

BANDS = 3  # bands of rows that a shift makes along one axis: untouched, end of the axis, wrapped start


@dataclass(frozen=True)
class WindowGrid:
    """A grid of ``resolution`` cells in windows of ``window`` cells that start ``shift`` cells late.

    All are (pressure, latitude, longitude). A grid that the windows do not fill is padded.

    Source: Liu et al. 2021 (Swin), section 3.2, made three-dimensional by Bi et al. 2023 (Pangu-Weather),
    Methods.
    """

    resolution: tuple[int, int, int]
    window: tuple[int, int, int]
    shift: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self):
        for name in ("resolution", "window", "shift"):
            cells = tuple(getattr(self, name))
            lowest = 0 if name == "shift" else 1
            if len(cells) != 3 or min(cells) < lowest:
                raise ValueError(
                    f"{name} must be three cell counts (pressure, latitude, longitude), got {cells}"
                )
            object.__setattr__(self, name, cells)
        # An axis that holds one window has no neighbour to reach: shifting it would only take pairs away.
        single = tuple(size == side for size, side in zip(self.padded, self.window, strict=True))
        shift = tuple(0 if alone else cells for alone, cells in zip(single, self.shift, strict=True))
        if any(cells >= side for cells, side in zip(shift, self.window, strict=True)):
            raise ValueError(f"shift {shift} must be smaller than the window {self.window}")
        object.__setattr__(self, "shift", shift)

    @property
    def padded(self) -> tuple[int, int, int]:
        return round_up(self.resolution, self.window)

    @property
    def unpadded_circle(self) -> tuple[int, int, int]:
        """Pressure and latitude padded, longitude as it is."""
        return (*self.padded[:2], self.resolution[2])

    @property
    def counts(self) -> tuple[int, int, int]:
        """Windows along each axis: nP, nY, nX."""
        return tuple(size // side for size, side in zip(self.padded, self.window, strict=True))

    @property
    def window_types(self) -> int:
        """T: windows that differ in pressure or latitude. Each has a position bias of its own."""
        return self.counts[0] * self.counts[1]

    @property
    def window_tokens(self) -> int:
        """N: tokens in a window."""
        return self.window[0] * self.window[1] * self.window[2]

    def partition(self, x: torch.Tensor) -> torch.Tensor:
        """(B, P, Y, X, C) of the padded resolution -> (B * nX, N * T, C)."""
        (n_p, n_y, n_x), (w_p, w_y, w_x) = self.counts, self.window
        x = x.view(x.shape[0], n_p, w_p, n_y, w_y, n_x, w_x, x.shape[-1])
        x = x.permute(0, 5, 2, 4, 6, 1, 3, 7)  # B, nX, wP, wY, wX, nP, nY, C
        return x.reshape(-1, self.window_tokens * self.window_types, x.shape[-1])

    def merge(self, windows: torch.Tensor) -> torch.Tensor:
        """(B * nX, N * T, C) -> (B, P, Y, X, C) of the padded resolution: undoes ``partition``."""
        (n_p, n_y, n_x), (w_p, w_y, w_x) = self.counts, self.window
        x = windows.view(-1, n_x, w_p, w_y, w_x, n_p, n_y, windows.shape[-1])
        x = x.permute(0, 5, 2, 6, 3, 1, 4, 7)  # B, nP, wP, nY, wY, nX, wX, C
        return x.reshape(-1, *self.padded, windows.shape[-1])

    def regions(self) -> torch.Tensor:
        """Which cells may see each other: an integer per (P, Y) cell of the shifted, padded grid.

        A shift moves the first cells of an axis behind the last ones. Along pressure and latitude these are
        no neighbours, so each axis falls into 3 bands and the grid into 3 x 3 = 9 regions. Longitude is
        cyclic: what the shift brings together there are true neighbours, and it is not cut. Padding is kept
        apart from all cells.
        """
        bands, pads = [], []
        for axis in (0, 1):
            size, side, shift = self.padded[axis], self.window[axis], self.shift[axis]
            cell = torch.arange(size)
            bands.append((cell >= size - side).long() + (cell >= size - shift).long() if shift else cell * 0)
            before, after = split_padding(self.resolution[axis], size)
            pads.append(((cell < before) | (cell >= size - after)).roll(-shift))
        region = bands[0][:, None] * BANDS + bands[1][None, :]
        return torch.where(pads[0][:, None] | pads[1][None, :], region + BANDS * BANDS, region)

    def blocked_pairs(self) -> torch.Tensor | None:
        """(T, N, N) bool, True where query and key lie in different regions; None if nothing is blocked."""
        cut = self.shift[0] or self.shift[1] or self.padded[:2] != self.resolution[:2]
        if not cut:
            return None
        (n_p, n_y, _), (w_p, w_y, w_x) = self.counts, self.window
        region = self.regions().view(n_p, w_p, n_y, w_y).permute(0, 2, 1, 3)  # nP, nY, wP, wY
        region = region.reshape(self.window_types, w_p * w_y).repeat_interleave(w_x, dim=1)  # T, N
        return region[:, :, None] != region[:, None, :]


def cut_windows(x: torch.Tensor, grid: WindowGrid) -> torch.Tensor:
    """(B, P * Y * X, C) -> (B * nX, N * T, C), the (shifted) windows of ``grid``.

    Longitude is turned before it is padded: the padding then repeats true neighbours, in shifted windows too.
    """
    x = pad_grid(x.view(-1, *grid.resolution, x.shape[-1]), grid.unpadded_circle, dim=1)
    pressure, latitude, longitude = grid.shift
    if any(grid.shift):
        x = torch.roll(x, shifts=(-pressure, -latitude, -longitude), dims=(1, 2, 3))
    return grid.partition(pad_grid(x, grid.padded, dim=1))


def join_windows(windows: torch.Tensor, grid: WindowGrid) -> torch.Tensor:
    """(B * nX, N * T, C) -> (B, P * Y * X, C): undoes ``cut_windows``."""
    x = crop_grid(grid.merge(windows), grid.unpadded_circle, dim=1)
    pressure, latitude, longitude = grid.shift
    if any(grid.shift):
        x = torch.roll(x, shifts=(pressure, latitude, longitude), dims=(1, 2, 3))
    return crop_grid(x, grid.resolution, dim=1).flatten(1, 3)


def attend_in_windows(attention, x: torch.Tensor, grid: WindowGrid) -> torch.Tensor:
    """Apply ``attention`` inside the (shifted) windows of ``grid``.

    x: (B, P * Y * X, C) -> same shape. ``attention`` maps (B * nX, N * T, C) to the same shape, or to a
    smaller batch.
    """
    return join_windows(attention(cut_windows(x, grid)), grid)

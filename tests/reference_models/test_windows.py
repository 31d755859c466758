"""Padding and windows: what goes in comes out, and only true neighbours meet."""

import pytest
import torch

from onescience_check.reference_models.modules.attention.windows import (
    WindowGrid,
    attend_in_windows,
    cut_windows,
)
from onescience_check.reference_models.modules.padding import crop_grid, pad_grid, split_padding

RESOLUTIONS = [(8, 12, 24), (8, 13, 24), (7, 11, 23), (2, 6, 12), (1, 5, 3), (3, 6, 25)]
WINDOW = (2, 6, 12)
HALF = (1, 3, 6)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("shift", [(0, 0, 0), HALF])
def test_cut_and_join_is_the_identity(resolution, shift):
    grid = WindowGrid(resolution, WINDOW, shift)
    x = torch.randn(2, resolution[0] * resolution[1] * resolution[2], 3)
    assert torch.equal(attend_in_windows(lambda windows: windows, x, grid), x)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_padding_is_zero_beyond_poles_and_cyclic_in_longitude(resolution):
    target = tuple(size + 5 for size in resolution)
    x = torch.rand(1, 2, *resolution) + 1.0
    padded = pad_grid(x, target, dim=2)
    assert padded.shape[2:] == target
    assert torch.equal(crop_grid(padded, resolution, dim=2), x)
    rows = padded[:, :, 2 : 2 + resolution[0], 2 : 2 + resolution[1]]
    columns = (torch.arange(target[2]) - 2) % resolution[2]
    assert torch.equal(rows, x[..., columns])
    assert padded.sum() == pytest.approx(rows.sum().item())


def test_padding_is_split_evenly_with_the_odd_cell_at_the_far_end():
    assert split_padding(721, 724) == (1, 2)
    with pytest.raises(ValueError, match="cannot be padded"):
        split_padding(5, 4)


def test_a_window_holds_neighbouring_cells_of_one_type():
    grid = WindowGrid((4, 12, 24), WINDOW)
    cells = torch.cartesian_prod(torch.arange(4), torch.arange(12), torch.arange(24)).view(1, 4, 12, 24, 3)
    windows = grid.partition(cells).view(2, grid.window_tokens, grid.window_types, 3)  # nX, N, T, (P, Y, X)
    for column in range(2):
        for kind in range(grid.window_types):
            first = torch.tensor([kind // 2 * 2, kind % 2 * 6, column * 12])
            expected = torch.cartesian_prod(torch.arange(2), torch.arange(6), torch.arange(12)) + first
            assert torch.equal(windows[column, :, kind], expected)


def test_the_shift_makes_nine_regions_and_does_not_cut_longitude():
    shifted = WindowGrid((8, 18, 36), WINDOW, HALF)
    assert shifted.regions().unique().numel() == 9
    # Longitude is no part of the regions: a mask that is the same for all columns cannot cut it.
    blocked = shifted.blocked_pairs().view(
        shifted.window_types, 12, 12, 12, 12
    )  # T, (wP wY), wX, (wP wY), wX
    assert torch.equal(blocked, blocked[:, :, :1, :, :1].expand_as(blocked))
    assert WindowGrid((8, 18, 36), WINDOW).blocked_pairs() is None


@pytest.mark.parametrize("shift", [(0, 0, 0), HALF, (1, 2, 5)])
def test_blocked_pairs_are_those_that_are_no_neighbours_on_the_grid(shift):
    """By definition: cells of a window may meet when they are as far apart on the grid as in the window."""
    resolution = (5, 17, 24)
    grid = WindowGrid(resolution, WINDOW, shift)
    cells = torch.cartesian_prod(*(torch.arange(1, size + 1) for size in resolution)).view(1, *resolution, 3)
    padded = pad_grid(cells, grid.padded, dim=1)  # padding has level and latitude 0
    windows = grid.partition(padded.roll([-s for s in shift], dims=(1, 2, 3))).view(
        2, 144, grid.window_types, 3
    )
    level_latitude = windows[0, :, :, :2].transpose(0, 1)  # T, N, 2
    in_window = torch.cartesian_prod(torch.arange(2), torch.arange(6), torch.arange(12))[:, :2]
    on_grid = level_latitude[:, :, None] - level_latitude[:, None]
    neighbours = (on_grid == (in_window[:, None] - in_window[None])).all(-1)
    real = (level_latitude > 0).all(-1)
    both_real = real[:, :, None] & real[:, None, :]
    blocked = grid.blocked_pairs()
    assert torch.equal(blocked[both_real], ~neighbours[both_real])
    one_real = real[:, :, None] != real[:, None, :]
    assert one_real.any() and blocked[one_real].all()
    assert not blocked.all(dim=-1).any()  # a row with nothing to attend to would turn into NaN


@pytest.mark.parametrize("shift", [(0, 0, 0), HALF])
def test_padded_longitude_brings_true_neighbours_together(shift):
    """At 1.5 degrees the coarse grid has 30 columns and 3 windows of 12: what is padded repeats the other side."""
    grid = WindowGrid((2, 6, 30), WINDOW, shift)
    columns = torch.arange(30.0).expand(1, 2, 6, 30).reshape(1, -1, 1)
    windows = cut_windows(columns, grid).view(3, 2, 6, 12)
    steps = windows.diff(dim=-1) % 30
    assert (steps == 1).all()
    assert torch.equal(windows.unique(), torch.arange(30.0))


def test_an_axis_with_a_single_window_is_not_shifted():
    assert WindowGrid((2, 12, 12), WINDOW, HALF).shift == (0, 3, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((8, 12), WINDOW), "resolution must be three"),
        (((8, 12, 24), (2, 0, 12)), "window must be three"),
        (((8, 12, 24), WINDOW, (2, 3, 6)), "smaller than the window"),
    ],
)
def test_impossible_windows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        WindowGrid(*arguments)

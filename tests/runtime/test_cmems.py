"""Ocean data: land is 0 whatever the file holds there, and the wind is no target."""

import numpy as np
import pytest

from onescience_check.runtime.cmems import CHANNELS, FORCING, CMEMSDataset
from onescience_check.runtime.cmems_generator import generate
from onescience_check.runtime.errors import UserError


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("data") / "cmems"
    generate(root, [2000, 2001], (16, 32), times=4, seed=0)
    return root


def test_samples_are_wind_and_ocean_now_and_ocean_later(root):
    data = CMEMSDataset(root, [2000, 2001])
    assert len(data) == 6 and data.img_size == (16, 32) and 0.5 < data.valid.mean() < 1
    now, later = data[3]
    assert now.shape == (96, 16, 32) and later.shape == (94, 16, 32) and now.dtype == np.float32
    assert np.isfinite(now).all() and (now[:, ~data.valid] == 0).all() and (later[:, ~data.valid] == 0).all()
    assert np.array_equal(data[1][0][2:], data[0][1]), "the target is the next state without the wind"
    assert len(FORCING) == 2 and len(CHANNELS) == 96


def test_channels_are_normalized_over_the_ocean(root):
    data = CMEMSDataset(root, [2000, 2001])
    states = np.stack([data[index][0] for index in range(len(data))])[:, :, data.valid]
    assert np.abs(states.mean(axis=(0, 2))).max() < 0.5
    assert states.std(axis=(0, 2)).max() < 2.0


def test_a_mask_of_another_grid_is_named(root, tmp_path):
    copy = tmp_path / "cmems"
    generate(copy, [2000], (16, 32), times=3, seed=0)
    np.save(copy / "static" / "ocean_mask.npy", np.ones((4, 4)))
    with pytest.raises(UserError, match=r"ocean_mask.npy has shape \[4, 4\], the data want \[16, 32\]"):
        CMEMSDataset(copy, [2000])

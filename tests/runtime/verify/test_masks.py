"""Masks of land and ocean that are not here are made up, in the size of the configuration."""

import numpy as np
import pytest
import torch

from onescience_check.runtime.verify import masks
from onescience_check.runtime.verify.flops import FlopCounter
from onescience_check.runtime.verify.overrides import ConfigFiles


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(np, "load", np.load)

    def install(overrides):
        files = ConfigFiles(overrides)
        files.read.append({"dataset": {"img_size": [12, 20]}})
        made = masks.MaskFiles(files)
        made.install()
        return made

    return install


def test_a_mask_that_is_not_here_has_both_land_and_ocean(stand_in, tmp_path):
    made = stand_in({})
    mask = np.load(str(tmp_path / "ocean_mask.npy"))
    assert mask.shape == (12, 20) and 0.4 < mask.mean() < 0.9
    assert made.notes == [f"{tmp_path}/ocean_mask.npy is not here: land and ocean were made up"]
    with pytest.raises(FileNotFoundError):
        np.load(tmp_path / "means.npy")


def test_a_mask_that_is_here_is_read_unless_the_grid_was_made_small(stand_in, tmp_path):
    np.save(tmp_path / "ocean_mask.npy", np.ones((40, 80)))
    assert stand_in({}) and np.load(tmp_path / "ocean_mask.npy").shape == (40, 80)
    made = stand_in({"dataset.img_size": [12, 20]})
    assert np.load(tmp_path / "ocean_mask.npy").shape == (12, 20)
    assert made.notes == [
        f"{tmp_path}/ocean_mask.npy has [40, 80] cells, not [12, 20]: land and ocean were made up"
    ]


def test_operations_are_counted_where_a_parameter_is_expanded_without_gradients():
    queries, layer = torch.nn.Parameter(torch.ones(1, 3, 4)), torch.nn.Linear(4, 5)
    with FlopCounter() as counter, torch.no_grad():
        layer(queries.expand(1, -1, -1))
    assert counter.get_total_flops() == 2 * 3 * 4 * 5

"""ERA5-shaped data: what the generator makes is consistent, what is broken is named."""

import pickle

import h5py
import numpy as np
import pytest

from onescience_check.runtime import era5_generator
from onescience_check.runtime.era5 import CHANNELS, LEVELS, MASKS, ERA5Dataset
from onescience_check.runtime.errors import UserError

SIZE, TIMES = (16, 32), 6


@pytest.fixture
def root(tmp_path):
    """Two small years."""
    era5_generator.generate(tmp_path / "era5", [2000, 2001], SIZE, TIMES, seed=3)
    return tmp_path / "era5"


def fields(root, name):
    """All of one year's channel, or of a variable's 13 levels."""
    with h5py.File(root / "data" / "2000.h5") as file:
        chosen = [
            index
            for index, channel in enumerate(CHANNELS)
            if channel == name or channel.startswith(f"{name}_")
        ]
        return file["fields"][:, chosen]


def test_sample_is_a_state_with_masks_and_a_later_state(root):
    data = ERA5Dataset(root, [2000, 2001], lead=2)
    assert len(data) == 2 * (TIMES - 2)
    x, y = data[TIMES - 2]  # the first of the second year
    assert x.shape == (72, *SIZE) and y.shape == (69, *SIZE)
    assert x.dtype == y.dtype == np.float32
    with h5py.File(root / "data" / "2001.h5") as file:
        raw = file["fields"][:]
    means, stds = (np.load(root / "stats" / f"global_{name}.npy")[0] for name in ("means", "stds"))
    np.testing.assert_allclose(
        x[[0, 3, 7, 71]] * stds[[0, 3, 4, 68]] + means[[0, 3, 4, 68]], raw[0, [0, 3, 4, 68]], rtol=1e-4
    )
    np.testing.assert_allclose(y * stds + means, raw[2], rtol=1e-4, atol=1e-3)


def test_channels_and_their_order_can_be_chosen(root):
    whole, few = (
        ERA5Dataset(root, [2000]),
        ERA5Dataset(root, [2000], channels=["2m_temperature", "temperature_500"]),
    )
    assert np.array_equal(few[0][1], whole[0][1][[3, 4 + 26 + LEVELS.index(500)]])
    assert few[0][0].shape == (2 + len(MASKS), *SIZE)


def test_channels_are_normalized(root):
    samples = np.stack([ERA5Dataset(root, [2000, 2001])[index][0] for index in range(2 * (TIMES - 1))])
    assert abs(samples.mean(axis=(0, 2, 3))).max() < 0.3
    assert samples.std(axis=(0, 2, 3)).min() > 0.5 and samples.std(axis=(0, 2, 3)).max() < 2


def test_fields_are_physically_plausible(root):
    temperature, geopotential = fields(root, "temperature"), fields(root, "geopotential")
    assert temperature.min() > 170 and temperature.max() < 330  # K
    assert (np.diff(geopotential, axis=1) > 0).all(), "height grows as pressure falls"
    humidity = fields(root, "specific_humidity")
    assert humidity.min() > 0 and humidity.max() < 0.04  # kg/kg
    assert (
        fields(root, "mean_sea_level_pressure").min() > 9e4
        and fields(root, "mean_sea_level_pressure").max() < 1.1e5
    )
    wind = fields(root, "u_component_of_wind")
    assert 10 < abs(wind).max() < 150  # m/s
    # Hydrostatic balance: the thickness of a layer is R T ln(p1 / p2).
    thickness = geopotential[:, 5] - geopotential[:, 3]  # 700 to 500 hPa
    mean = 0.25 * (temperature[:, 3] + 2 * temperature[:, 4] + temperature[:, 5])
    np.testing.assert_allclose(thickness, 287.0 * mean * np.log(700 / 500), rtol=0.01)


def test_weather_persists_and_moves(root):
    pressure = fields(root, "mean_sea_level_pressure")[:, 0]
    near, far = abs(pressure[1] - pressure[0]).mean(), abs(pressure[5] - pressure[0]).mean()
    assert 0 < near < far


def test_dataset_travels_to_loader_processes(root):
    data = ERA5Dataset(root, [2000])
    data[0]
    assert np.array_equal(pickle.loads(pickle.dumps(data))[1][0], data[1][0])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda root: (root / "data" / "2001.h5").unlink(), "no data file .*2001.h5: there are 2000"),
        (lambda root: cut(root / "data" / "2001.h5"), "2001.h5 is damaged or cut short"),
        (lambda root: (root / "data" / "2001.h5").write_text("not HDF5"), "2001.h5 is damaged or cut short"),
        (lambda root: (root / "static" / "land_mask.npy").unlink(), "no file .*land_mask.npy"),
        (lambda root: cut(root / "static" / "topography.npy"), "topography.npy cannot be read"),
        (
            lambda root: np.save(root / "static" / "soil_type.npy", np.zeros((2, 2))),
            "soil_type.npy has shape",
        ),
        (
            lambda root: np.save(root / "stats" / "global_stds.npy", np.zeros((1, 69, 1, 1))),
            "standard deviation",
        ),
        (lambda root: rewrite(root / "data" / "2001.h5", (TIMES, 69, 8, 8)), "another grid"),
        (lambda root: rewrite(root / "data" / "2001.h5", (TIMES, 70, *SIZE)), "do not fit 69 channel names"),
        (lambda root: rewrite(root / "data" / "2001.h5", (1, 69, *SIZE)), "too few"),
    ],
)
def test_broken_data_is_named(root, damage, message):
    damage(root)
    with pytest.raises(UserError, match=message):
        ERA5Dataset(root, [2000, 2001])


def cut(path):
    """Keep the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def rewrite(path, shape):
    """A year of another shape."""
    with h5py.File(path, "w") as file:
        file.create_dataset("fields", shape, "f4").attrs["channels"] = list(CHANNELS)


def test_bad_requests(root):
    with pytest.raises(UserError, match="no data folder"):
        ERA5Dataset(root / "nowhere", [2000])
    with pytest.raises(UserError, match="no channel temperature_501"):
        ERA5Dataset(root, [2000], channels=["temperature_501"])
    with pytest.raises(UserError, match="lead"):
        ERA5Dataset(root, [2000], lead=0)
    assert era5_generator.main([str(root)]) == 1, "an existing folder is left alone"

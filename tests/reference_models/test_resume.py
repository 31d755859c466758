"""Both models go on from where SIGTERM or a kill ended them, to the last digit, and are scored as an independent
computation scores them.
"""

import csv
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import xarray
import yaml

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.xihe import Xihe
from onescience_check.runtime import cmems_generator, era5_generator
from onescience_check.runtime.checkpoint.convert import gather
from tests import worlds

from .test_examples import EXAMPLES

SMALLER = {
    "[48, 96]": "[24, 48]",
    "embed_dim: 32": "embed_dim: 8",
    "num_groups: 8": "num_groups: 2",
    "[1, 2, 2, 2, 1]": "[1, 1, 1, 1, 1]",
    "[1, 3, 3, 1]": "[1, 1, 1, 1]",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    era5_generator.generate(folder / "data" / "era5", [2000, 2001], (24, 48), times=4, seed=0)
    cmems_generator.generate(folder / "data" / "cmems", [2000, 2001], (24, 48), times=4, seed=0)
    for model in ("pangu_weather", "xihe"):
        text = (EXAMPLES / model / "conf" / "config.yaml").read_text(encoding="utf-8")
        for usual, smaller in SMALLER.items():
            text = text.replace(usual, smaller)
        (folder / f"{model}.yaml").write_text(text, encoding="utf-8")
    script = Path(__file__).with_name("resume_world.py")
    run = worlds.open_process([sys.executable, str(script), str(folder)], cwd=folder)
    return folder, worlds.finish(run, limit=240).output


@pytest.mark.parametrize("model", ["pangu_weather", "xihe"])
def test_interrupted_runs_end_as_the_undisturbed_one(ended, model):
    folder, output = ended
    assert [line for line in output.splitlines() if line.startswith(f"{model}_")] == [
        f"{model}_undisturbed 0",
        f"{model}_disturbed 0",
        f"{model}_disturbed -9",
        f"{model}_disturbed 0",
        f"{model}_undisturbed_scored 0",
    ], output[-3000:]
    assert "stopped after iteration 1 by SIGTERM: go on with --load" in output
    assert "resumed from iteration 1 of" in output and "resumed from iteration 4 of" in output
    curves = []
    for name in ("undisturbed", "disturbed"):
        with open(folder / f"{model}_{name}" / "loss.csv", newline="", encoding="utf-8") as file:
            curves.append([{**row, "seconds": ""} for row in csv.DictReader(file)])
    assert curves[0] == curves[1] and len(curves[0]) == 6


def fields(folder, year):
    """(T, C, Y, X) normalized, and the standard deviations."""
    with h5py.File(folder / "data" / f"{year}.h5") as file:
        values = file["fields"][:]
    means, stds = (np.load(folder / "stats" / f"global_{name}.npy") for name in ("means", "stds"))
    return (values - means) / stds, stds[0]


def pangu_forecast(plain, root, now):
    masks = [np.load(root / "static" / f"{name}.npy") for name in ("land_mask", "topography", "soil_type")]
    masks = np.stack([(mask - mask.mean()) / mask.std() for mask in masks])
    for _ in range(2):
        state = np.concatenate([now[0][:4], masks, now[0][4:]])
        now = [plain(torch.from_numpy(state)[None]).numpy()[0]]
        yield now[0]


def xihe_forecast(plain, root, now):
    ocean = np.load(root / "static" / "ocean_mask.npy") > 0.5
    now = [np.where(ocean, state, np.float32(0)) for state in now]
    state = now[0]
    for wind in (now[1][:2], now[2][:2]):
        forecast = plain(torch.from_numpy(state)[None]).numpy()[0]
        yield forecast
        state = np.concatenate([wind, np.where(ocean, forecast, np.float32(0))])


@pytest.mark.parametrize(
    ("model", "plain_class", "data", "forecast_of", "forcing"),
    [("pangu_weather", Pangu, "era5", pangu_forecast, 0), ("xihe", Xihe, "cmems", xihe_forecast, 2)],
)
def test_scores_equal_those_computed_by_xarray(
    ended, monkeypatch, model, plain_class, data, forecast_of, forcing
):
    folder, output = ended
    monkeypatch.chdir(folder)
    run, root = folder / f"{model}_undisturbed", folder / "data" / data
    sizes = yaml.safe_load((folder / f"{model}.yaml").read_text(encoding="utf-8"))
    plain = plain_class(img_size=sizes["dataset"]["img_size"], **sizes["model"]).eval()
    plain.load_state_dict(gather(run).model)
    test, stds = fields(root, 2001)
    clim = fields(root, 2000)[0].mean(axis=0)[forcing:]
    with torch.no_grad():
        forecasts = [list(forecast_of(plain, root, list(test[start:]))) for start in (0, 1)]
    dims = ("start", "lead", "channel", "latitude", "longitude")
    latitude = {"latitude": np.linspace(90, -90, 24)}
    predicted = xarray.DataArray(np.array(forecasts, dtype=np.float64), dims=dims, coords=latitude)
    truth = xarray.DataArray(np.stack([test[1:3, forcing:], test[2:4, forcing:]]), dims=dims, coords=latitude)
    clim = xarray.DataArray(clim, dims=dims[2:], coords=latitude)
    where = ("latitude", "longitude")
    mean = lambda values: values.weighted(np.cos(np.deg2rad(values.latitude))).mean(where)  # noqa: E731  skips land
    predicted = predicted.where(truth.notnull())
    rmse = np.sqrt(mean((predicted - truth) ** 2).mean("start")) * stds[forcing:, 0, 0]
    one, other = predicted - clim, truth - clim
    acc = (mean(one * other) / np.sqrt(mean(one**2) * mean(other**2))).mean("start")

    with open(run / "evaluation" / "scores.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["lead"] for row in rows[:3]] == ["1", "2", "1"] and len(rows) == 2 * rmse.sizes["channel"]
    # float32 through some ten layers; the scores themselves are float64
    for name, expected in (("rmse", rmse), ("acc", acc)):
        scored = np.array([float(row[name]) for row in rows])
        wanted = expected.values.T.flatten()
        known = np.isfinite(wanted)  # a level that never changes has no anomalies
        assert known.mean() > 0.9
        assert scored[known] == pytest.approx(wanted[known], rel=1e-4, abs=1e-4 if name == "acc" else 0)
    assert f"2 forecasts of 2 steps; all scores are in {run / 'evaluation' / 'scores.csv'}" in output

    channel = rows[2 * 3]["channel"] if model == "pangu_weather" else rows[2]["channel"]
    assert (run / "evaluation" / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "evaluation" / f"{channel}_2.png").read_bytes().startswith(b"\x89PNG")
    with xarray.open_dataset(run / "forecast.nc", engine="h5netcdf") as written:
        assert dict(written[channel].sizes) == {"lead": 2, "latitude": 24, "longitude": 48}
        assert written.latitude.values[0] == 90 and len(written.data_vars) == rmse.sizes["channel"]

"""Scores as curves, forecasts as files and maps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import UserError


def plot_scores(
    path: Path, channels: Sequence[str], leads: Sequence[int], rmse: np.ndarray, acc: np.ndarray
) -> None:
    """RMSE in standard deviations, and ACC, over the lead."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, values, label in zip(
        figure.subplots(1, 2), (rmse, acc), ("RMSE in standard deviations", "ACC"), strict=True
    ):
        for column, channel in enumerate(channels):
            axes.plot(leads, values[:, column], marker=".", label=channel)
        axes.set(xlabel="lead in steps of the data", ylabel=label)
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def draw_map(
    path: Path, title: str, forecast: np.ndarray, truth: np.ndarray, latitudes: np.ndarray, valid: np.ndarray
) -> None:
    """Forecast, truth and their difference, (Y, X) each, side by side."""
    from matplotlib.figure import Figure

    shown = [np.where(valid, values, np.nan) for values in (forecast, truth, forecast - truth)]
    low, high = np.nanmin(shown[:2]), np.nanmax(shown[:2])
    largest = np.nanmax(np.abs(shown[2]))
    figure = Figure(figsize=(13, 3), layout="constrained")
    figure.suptitle(title)
    for axes, values, name in zip(
        figure.subplots(1, 3), shown, ("forecast", "truth", "forecast - truth"), strict=True
    ):
        limits = (
            {"vmin": -largest, "vmax": largest, "cmap": "RdBu_r"}
            if "-" in name
            else {"vmin": low, "vmax": high}
        )
        image = axes.imshow(values, extent=(0, 360, latitudes[-1], latitudes[0]), aspect="auto", **limits)
        axes.set_title(name)
        figure.colorbar(image, ax=axes)
    figure.savefig(path, dpi=120)


def write_forecast(
    path: Path,
    forecasts: np.ndarray,
    channels: Sequence[str],
    leads: Sequence[int],
    latitudes: np.ndarray,
    start: str,
) -> None:
    """Write the forecasts (L, C, Y, X) of one start as NetCDF (.nc) or Zarr (.zarr), a variable for each channel.

    Raises:
        UserError: packages are missing, or the path exists.
    """
    if path.exists():
        raise UserError(f"{path} exists and is left alone: choose another name")
    try:
        import xarray
    except ImportError:
        raise UserError(
            "forecasts are written by xarray: pip install 'onescience-check[evaluation]'"
        ) from None
    columns = forecasts.shape[3]
    dataset = xarray.Dataset(
        {
            name: (("lead", "latitude", "longitude"), forecasts[:, index])
            for index, name in enumerate(channels)
        },
        coords={
            "lead": ("lead", list(leads), {"units": "steps of the data"}),
            "latitude": ("latitude", latitudes, {"units": "degrees_north"}),
            "longitude": ("longitude", np.arange(columns) * 360 / columns, {"units": "degrees_east"}),
        },
        attrs={"start": start},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.suffix == ".zarr":
            dataset.to_zarr(path)
        else:
            dataset.to_netcdf(path, engine="h5netcdf")
    except ImportError as error:
        raise UserError(f"{error}: pip install 'onescience-check[evaluation]'") from None

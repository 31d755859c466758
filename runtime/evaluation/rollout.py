"""Forecasts from forecasts: the model's output goes in again, as often as wanted."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from ..fields import YearlyFields


def rollout(
    model: Callable[[torch.Tensor], torch.Tensor],
    dataset: YearlyFields,
    start: tuple[Path, int],
    steps: int,
    device: torch.device,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(forecast, truth) after each step, normalized, (C, Y, X) each.

    Args:
        model: from input (1, C, Y, X) to the state a lead later.
        dataset: knows inputs and truths.
        start: file and time to start from.
        steps: how many.
        device: of the model.
    """
    path, time = start
    invar = dataset.model_input(path, time)
    for _ in range(steps):
        time += dataset.lead
        with torch.no_grad():
            output = model(torch.from_numpy(invar)[None].to(device))
        forecast = output[0].float().cpu().numpy()
        yield forecast, dataset.truth(path, time)
        invar = dataset.model_input(path, time, forecast)


def climatology(dataset: YearlyFields, times: int) -> np.ndarray:
    """Mean of so many truths of the data, evenly spread: (C, Y, X), normalized."""
    places = [
        (path, time)
        for path, length in zip(dataset.paths, dataset.times, strict=True)
        for time in range(length)
    ]
    chosen = [places[index] for index in np.linspace(0, len(places) - 1, min(times, len(places))).astype(int)]
    return np.mean([dataset.truth(*place) for place in chosen], axis=0, dtype=np.float64)

"""Latitude-weighted root mean square error and anomaly correlation.

# L lead, C channel, Y latitude, X longitude
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np


class Scores:
    """Sums over forecasts, a row for each lead and a column for each channel.

    A cell weighs as the cosine of its latitude. RMSE is the root of the mean over forecasts and cells; ACC is the mean
    over forecasts of the correlation over cells of the two anomalies, which are what exceeds the climatology.

    Args:
        leads: how many.
        climatology: (C, Y, X).
        latitudes: (Y,) in degrees.
        valid: (Y, X) bool, the cells that count.
    """

    def __init__(self, leads: int, climatology: np.ndarray, latitudes: np.ndarray, valid: np.ndarray) -> None:
        weights = np.cos(np.deg2rad(latitudes.astype(np.float64)))[:, None] * np.broadcast_to(
            valid, climatology.shape[1:]
        )
        self.weights = weights / weights.sum()
        self.climatology = climatology.astype(np.float64)
        self.squares = np.zeros((leads, len(climatology)))
        self.correlations = np.zeros_like(self.squares)
        self.count = np.zeros((leads, 1))

    def add(self, lead: int, forecast: np.ndarray, truth: np.ndarray) -> None:
        """Count one forecast (C, Y, X), `lead` from 0 on."""
        forecast, truth = (np.where(self.weights > 0, state, 0.0) for state in (forecast, truth))
        anomaly, true_anomaly = forecast - self.climatology, truth - self.climatology
        self.squares[lead] += self._mean((forecast - truth) ** 2)
        spread = np.sqrt(self._mean(anomaly**2) * self._mean(true_anomaly**2))
        with np.errstate(invalid="ignore"):  # a field without anomalies has no correlation: nan
            self.correlations[lead] += self._mean(anomaly * true_anomaly) / spread
        self.count[lead] += 1

    @property
    def rmse(self) -> np.ndarray:
        """(L, C)."""
        return np.sqrt(self.squares / self.count)

    @property
    def acc(self) -> np.ndarray:
        """(L, C)."""
        return self.correlations / self.count

    def _mean(self, values: np.ndarray) -> np.ndarray:
        return (values * self.weights).sum(axis=(1, 2))


def write_table(path: Path, channels: Sequence[str], steps: int, rmse: np.ndarray, acc: np.ndarray) -> None:
    """One line for each channel and lead; a lead is so many times ``steps``."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["channel", "lead", "rmse", "acc"])
        for column, channel in enumerate(channels):
            for lead in range(len(rmse)):
                writer.writerow([channel, (lead + 1) * steps, rmse[lead, column], acc[lead, column]])

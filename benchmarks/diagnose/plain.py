"""What the runs of the reference models need: results of the plain model, small data to train on."""

from __future__ import annotations

import os
from pathlib import Path


def write(folder: Path) -> None:
    """Results and weights of the plain model."""
    import torch

    from .worlds import package_of

    package_of(str(folder / "reference"))
    from tests.parity import case

    case.STEPS = 2
    results = case.plain_results()
    torch.save(results, folder / "plain.pt")
    torch.save(results["weights"], folder / "weights.pt")


def make_data(folder: Path) -> None:
    """Fields of two years on the grid of the example."""
    from onescience_check.runtime import era5_generator

    os.chdir(folder)
    era5_generator.main(["data/era5", "--years", "2000", "2001", "--img-size", "48", "96", "--times", "12"])

"""Both models go on from where SIGTERM or a kill ended them, to the last digit."""

import csv
import sys
from pathlib import Path

import pytest

from onescience_check.runtime import cmems_generator, era5_generator
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
    ], output[-3000:]
    assert "stopped after iteration 1 by SIGTERM: go on with --load" in output
    assert "resumed from iteration 1 of" in output and "resumed from iteration 4 of" in output
    curves = []
    for name in ("undisturbed", "disturbed"):
        with open(folder / f"{model}_{name}" / "loss.csv", newline="", encoding="utf-8") as file:
            curves.append([{**row, "seconds": ""} for row in csv.DictReader(file)])
    assert curves[0] == curves[1] and len(curves[0]) == 6

"""The example scripts run as their READMEs say, and plain weights start the distributed training."""

import csv
import sys
from pathlib import Path

import pytest

from onescience_check.runtime import cmems_generator
from onescience_check.runtime.era5_generator import generate
from tests import worlds

EXAMPLES = Path(__file__).parents[2] / "reference_models" / "examples" / "earth"
DISTRIBUTED = EXAMPLES / "pangu_weather_distributed_4stage"


def run(folder, *words):
    return worlds.finish(worlds.open_process([sys.executable, *map(str, words)], cwd=folder), limit=240)


def run_distributed(folder, *flags, example=DISTRIBUTED):
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "1", "--master-port", worlds.free_port()]
    return run(folder, *launch, example / "train.py", "--device", "cpu", *flags)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    generate(folder / "data" / "era5", [2000, 2001], (48, 96), times=6, seed=0)
    cmems_generator.generate(folder / "data" / "cmems", [2000, 2001], (48, 96), times=6, seed=0)
    return folder


@pytest.mark.parametrize("model", ["pangu_weather", "xihe"])
def test_the_plain_training_starts_the_distributed_one(folder, model):
    start = [EXAMPLES / model / "train.py", "--device", "cpu", "--train-iters", 3]
    plain = run(folder, *start, "--save", f"{model}_plain")
    assert plain.code == 0, plain.output
    again = run(folder, *start, "--save", f"{model}_plain")
    assert again.code == 1 and f"{model}_plain holds checkpoints already: add --load" in again.output

    flags = ["--global-batch-size", 2, "--train-iters", 4, "--log-dir", model]
    flags += ["--pretrained-checkpoint", f"{model}_plain"]
    distributed = run_distributed(folder, *flags, example=EXAMPLES / f"{model}_distributed_4stage")
    assert distributed.code == 0, distributed.output
    with open(folder / model / "loss.csv", encoding="utf-8") as file:
        losses = [float(row["lm loss"]) for row in csv.DictReader(file)]
    assert len(losses) == 4 and losses[-1] < losses[0]


def test_mistakes_in_the_configuration_stop_the_run_with_their_name(folder):
    text = (DISTRIBUTED / "conf" / "config.yaml").read_text(encoding="utf-8")
    (folder / "heads.yaml").write_text(text.replace("[2, 4, 4, 2]", "[3, 4, 4, 3]"), encoding="utf-8")
    result = run_distributed(folder, "--config", "heads.yaml", "--train-iters", 1)
    assert result.code != 0
    assert "heads.yaml: dim (32) must be a multiple of num_heads (3)" in result.output
    (folder / "grid.yaml").write_text(text.replace("[48, 96]", "[48, 100]"), encoding="utf-8")
    result = run_distributed(folder, "--config", "grid.yaml", "--train-iters", 1)
    assert result.code != 0
    assert "img_size is [48, 100], but the fields in data/era5 have [48, 96]" in result.output

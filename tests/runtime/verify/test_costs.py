"""What a dry run says that the full size costs, against what was measured on GPUs."""

import json
import re
from pathlib import Path

import pytest

from onescience_check.runtime.verify import shapes

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "reference_models/examples/earth/pangu_weather_distributed_4stage"
MEASURED = json.loads((ROOT / "benchmarks/results/gpu-2026-11-30.json").read_text("utf-8"))
BLOCKS_OF_STAGE_1 = 4  # all coarse, and nothing else


@pytest.fixture(scope="module", params=[("one", 1, 1), ("tp2", 2, 1), ("pp2", 1, 2)], ids=lambda row: row[0])
def case(request):
    name, tp, pp = request.param
    flags = ("--config", str(EXAMPLE / "conf/full_size.yaml"), "--bf16")
    return MEASURED["scaling"][name], shapes(EXAMPLE / "train.py", tp=tp, pp=pp, script_args=flags, limit=240)


def test_nothing_is_wrong_in_16_bits(case):
    _, result = case
    assert result.findings == []


def test_parameters_are_those_that_were_counted(case):
    ranks, result = case
    own = len(result.figures) // len({rank["parameters"] for rank in ranks})
    counts = [sum(f.parameters for f in result.figures[at : at + own]) for at in range(0, 4, own)]
    assert counts == list(dict.fromkeys(rank["parameters"] for rank in ranks))


def test_operations_are_those_of_the_measured_blocks(case):
    ranks, result = case
    shards = 2 if len(ranks) == 2 and ranks[0]["parameters"] == ranks[1]["parameters"] else 1
    measured = BLOCKS_OF_STAGE_1 * MEASURED["speed"]["blocks"]["coarse"]["tflop"] * 1e12 / shards
    assert result.figures[1].flops == pytest.approx(measured, rel=0.01)


def test_memory_is_what_was_measured(case):
    ranks, result = case
    traced = [
        float(text) for text in re.findall(r"([\d.]+) \(", str(result.facts["GiB of each pipeline rank"]))
    ]
    measured = list(dict.fromkeys(round(rank["peak_gib_8"], 1) for rank in ranks))
    assert traced == pytest.approx(measured, rel=0.15)

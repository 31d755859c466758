"""Placements by reading against those of a run: every parallel layer of the reference."""

from pathlib import Path

from onescience_check.checkers.report.inputs import input_types
from onescience_check.checkers.report.target import find
from onescience_check.runtime.verify import Plan, numbers

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"


def test_reading_and_running_agree_on_every_input():
    target = find(SCRIPT)
    places = {"original": target.original, "roots": target.roots, "renamed": target.renamed}
    run = numbers(Plan(str(target.script), **places, tp=2, pp=4)).types
    read = input_types([ROOT / "reference_models"])
    decided = {place: seen for place, seen in run.items() if place in read}
    assert len(run) == 9
    assert len(decided) >= 8, sorted(set(run) - set(read))
    assert {place: read[place] for place in decided} == decided

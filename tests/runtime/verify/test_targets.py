"""Stages given one by one, without a script; and sizes that are too large to compute."""

from pathlib import Path

from onescience_check.checkers.report.target import find_stages
from onescience_check.runtime.verify import Plan, shapes
from onescience_check.runtime.verify.number_run import _too_much

ROOT = Path(__file__).parents[3]
PACKAGE = "onescience_check.reference_models.models.pangu_distributed_4stage"
STAGES = tuple(f"{PACKAGE}:Pangu_stage{number}" for number in range(4))
SIZES = {"img_size": [48, 96], "embed_dim": 32, "num_heads": [2, 4, 4, 2], "depths": [1, 3, 3, 1]}


def test_stages_need_no_script(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = find_stages(STAGES)
    assert found.original.endswith("models.pangu.pangu:Pangu")
    places = {"original": found.original, "roots": found.roots, "renamed": found.renamed}
    result = shapes(Plan(str(found.script), **places, stages=STAGES, tp=2, pp=4, overrides=SIZES))
    assert result.findings == []
    assert [figures.parameters for figures in result.figures] == [97_744, 103_360, 103_360, 103_641]
    assert all(figures.sent for figures in result.figures[:3])


def test_what_cannot_be_made_small_is_said_in_one_line():
    plan = Plan("train.py", limit=120, memory=12)
    known = {"flops": 2.6e11, "kept": 16 << 30, "kept_size": "dataset.img_size"}
    assert _too_much(plan, known) == (
        "numbers are not computed: dataset.img_size cannot be made smaller, and at its size the comparison takes about "
        "624 s and 32.0 GiB for each process. Make it smaller with --set, or allow --limit 1248 --memory 48"
    )
    assert _too_much(plan, {"flops": 1e9, "kept": 1 << 20}) == ""

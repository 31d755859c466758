"""The verdicts of tests/mutants/mutants.json still hold: a twentieth by reading, one of each kind by running."""

import importlib.util

import pytest

from tests.mutants import trees

MUTANTS = trees.load()
READ = trees.share([row for row in MUTANTS if row["static"]], 1, 20)
RUN = [
    next(row for row in MUTANTS if row["run"] and row["run"]["kind"] == kind and row["run"]["path"])
    for kind in ("crash", "numbers")
]


def test_every_mutant_can_be_made():
    for row in MUTANTS:
        for file, old, _ in row["edits"]:
            text = (trees.ROOT / file).read_text("utf-8")
            assert old in text or len(row["edits"]) > 1, f"{row['id']}: {file}"


@pytest.mark.parametrize("mutant", READ, ids=lambda row: row["id"])
def test_reading_finds_what_it_found(mutant):
    with trees.tree(mutant) as folder:
        assert trees.static(folder) == mutant["static"]


@pytest.mark.parametrize("mutant", RUN, ids=lambda row: row["id"])
def test_a_run_shows_what_it_showed(mutant):
    with trees.tree(mutant) as folder:
        found = trees.run(folder, mutant["layout"])
    assert found is not None
    wanted = mutant["run"]
    assert (found["part"], found["kind"], found["path"]) == (wanted["part"], wanted["kind"], wanted["path"])


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location(
        "make_ground_truth", trees.ROOT / "docs" / "make_ground_truth.py"
    )
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    page = (trees.ROOT / "docs" / "ground-truth.md").read_text("utf-8")
    assert page == maker.page(), "run `python docs/make_ground_truth.py`"

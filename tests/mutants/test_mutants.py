"""The verdicts of tests/mutants/mutants.json still hold: a tenth of them, by reading and by running."""

import importlib.util
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.mutants import matrix, trees

MUTANTS = trees.load()
CHOSEN = trees.share(MUTANTS, 1, 10)


def test_every_mutant_can_be_made():
    for row in MUTANTS:
        for file, old, _ in row["edits"]:
            text = (trees.ROOT / file).read_text("utf-8")
            assert old in text or len(row["edits"]) > 1, f"{row['id']}: {file}"


@pytest.fixture(scope="module")
def measured():
    """Each mutant's verdicts, from processes that no other test has been in, as those of the matrix are."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=matrix.preload) as pool:
        yield {row["id"]: pool.submit(matrix.measure, row) for row in CHOSEN}


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda row: row["id"])
def test_reading_and_running_find_what_they_found(mutant, measured):
    found = measured[mutant["id"]].result(timeout=600)
    assert matrix.same(found, mutant), found


def test_what_is_made_of_them_is_up_to_date():
    spec = importlib.util.spec_from_file_location(
        "make_ground_truth", trees.ROOT / "docs" / "make_ground_truth.py"
    )
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    page = (trees.ROOT / "docs" / "ground-truth.md").read_text("utf-8")
    assert page == maker.page(), "run `python docs/make_ground_truth.py`"
    assert maker.EVIDENCE.read_text("utf-8") == maker.evidence(), "run `python docs/make_ground_truth.py`"
    assert maker.REFERENCES.read_text("utf-8") == maker.references(), "run `python docs/make_ground_truth.py`"

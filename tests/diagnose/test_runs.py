"""Logs of real runs of the reference models, each with one mistake made on purpose: the edited line comes first.

The runs were worlds of four processes on CPUs; frames of torch's module calls are left out, and paths are relative. The
logs keep the line numbers of then: where the reference has changed since, lines are found again by their text.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from onescience_check.checkers.diagnose.diagnosis import Diagnosis, diagnose
from onescience_check.checkers.diagnose.sources import Sources
from onescience_check.checkers.diagnose.story import story_of
from onescience_check.checkers.diagnose.stream import read_logs
from onescience_check.checkers.settings import load_settings

ROOT = Path(__file__).parents[2]
RUNS = Path(__file__).parent / "runs"
EDITS: dict[str, list[list[str]]] = json.loads((RUNS / "edits.json").read_text("utf-8"))
# Kind, the rank that was first, and whether the edited line is the first cause or among the first three.
EXPECTED = {
    "argument_not_taken": ("unexpected-argument", 3, 1),
    "batch_by_literal": ("p2p-mismatch", 0, 1),
    "data_on_one_tensor_rank": ("value-is-none", 1, 1),
    "forward_without_gradient": ("timed-out", 2, 3),
    "input_declared_split": ("widths-do-not-fit", 0, 1),
    "name_that_is_not_there": ("import-missing", 0, 1),
    "pair_passed_on": ("pair-as-tensor", 1, 1),
    "table_of_all_heads": ("checkpoint-load", 3, 1),
    "unpacked_in_other_order": ("shapes-do-not-fit", 3, 1),
}


def edited(name: str, folder: Path) -> list[tuple[str, int]]:
    """Make the mistake in a copy of the models; the lines that it changes."""
    for part in ("reference_models", "runtime"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", folder)
    lines = []
    for file, old, new, *which in EDITS[name]:
        path = folder / file
        text = path.read_text("utf-8")
        at = -1
        for _ in range((int(which[0]) if which and which[0] is not None else 0) + 1):
            at = text.find(old, at + 1)
        assert at >= 0, f"{file} has changed: make this run anew, or take it out"
        path.write_text(text[:at] + new + text[at + len(old) :], "utf-8")
        first = text.count("\n", 0, at) + 1
        lines += [(file, line) for line in range(first, first + max(1, len(new.strip("\n").splitlines())))]
    return lines


def answer(name: str, folder: Path) -> Diagnosis:
    log = read_logs([RUNS / f"{name}.log"])
    return diagnose(log, [Path("reference_models"), Path("runtime")], load_settings(folder))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_edited_line_is_the_cause(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = edited(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    made = answer(name, tmp_path)
    kind, rank, best = EXPECTED[name]
    assert (made.story.kind.name, made.story.ranks[0]) == (kind, rank)
    sources = Sources([Path("reference_models")])
    spans = []
    for cause in made.causes[:best]:
        source = sources.text(cause.path)
        start, end = source.statement(cause.line) if source is not None else (cause.line, cause.line)
        spans += [(cause.path, line) for line in range(start, end + 1)]
    assert set(lines) & set(spans), [(cause.path, cause.line, cause.weight) for cause in made.causes]


@pytest.mark.parametrize("path", sorted((RUNS / "healthy").glob("*.log")), ids=lambda path: path.stem)
def test_a_healthy_run_shows_no_failure(path: Path) -> None:
    assert story_of(read_logs([path])).kind.name == "none-seen"


def test_every_run_is_expected() -> None:
    assert {path.stem for path in RUNS.glob("*.log")} == set(EXPECTED) == set(EDITS)
    assert list((RUNS / "healthy").glob("*.log"))

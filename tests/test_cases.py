"""The shared cases get the verdict written beside them, where they lie and with default settings, as a user would run
them. They lie outside the repository; without them this module is skipped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.settings import Settings

ROOT = Path(__file__).parent.parent
CASES = next((path for path in (ROOT.parent / "shared/cases",) if path.is_dir()), None)
if CASES is None:
    pytest.skip("no cases beside the repository", allow_module_level=True)

RIGHT = ("right-code", "right-trees")
# Cases that no rule judges yet; a name goes as soon as its case passes.
WAITING: frozenset[str] = frozenset(
    """
    draw-on-each-rank
    """.split()
)


def expected(case: Path) -> tuple[set[tuple[str, int, str]], Settings]:
    """`file:line symbol` rows of expect.txt, and the settings that its comments ask for."""
    text = (case / "expect.txt").read_text("utf-8")
    rows = {(file, int(line), symbol) for file, line, symbol in re.findall(r"(?m)^(\S+):(\d+) (\S+)$", text)}
    assert rows
    return rows, Settings(sequence_parallel=re.search("sequence[-_]parallel = true", text) is not None)


def findings(path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """A run on one side of a case, from the folder that holds all cases."""
    monkeypatch.chdir(CASES)
    result = run([path.relative_to(CASES)], settings)
    assert not result.skipped
    return result.findings


def side(case: Path, name: str) -> Path:
    return case / name if (case / name).is_dir() else case / f"{name}.py"


def marked(name: str, *values: Path) -> ParameterSet:
    waits = pytest.mark.xfail(name in WAITING, reason="no rule judges it yet", strict=True)
    return pytest.param(*values, id=name, marks=[waits] if name in WAITING else [])


@pytest.mark.parametrize(
    "case",
    [
        marked(case.name, case)
        for case in sorted(CASES.iterdir())
        if (case / "expect.txt").exists() and case.name not in RIGHT
    ],
)
def test_a_fault_is_found_and_its_repair_is_clean(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, settings = expected(case)
    bad = findings(side(case, "bad"), settings, monkeypatch)
    found = {
        (item.place.path.removeprefix(f"{case.name}/").removeprefix("bad/"), item.place.line, item.symbol)
        for item in bad
    }
    missing = {(file.removeprefix("bad/"), line, symbol) for file, line, symbol in rows} - found
    good = findings(side(case, "good"), settings, monkeypatch)
    still = {item.symbol for item in good} & {symbol for _, _, symbol in rows}
    assert not missing and not still


@pytest.mark.parametrize(
    "path",
    [
        marked(f"{part}/{path.name}", path)
        for part in RIGHT
        for path in sorted((CASES / part).iterdir())
        if path.name != "expect.txt"
    ],
)
def test_code_that_looks_wrong_and_is_right(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(path, Settings(), monkeypatch)
    quiet = ("parallel-linear", "input-is-parallel")
    errors = [item for item in found if item.code.startswith("E") or item.symbol.startswith(quiet)]
    warnings = [item for item in found if item.code.startswith("W") and path.is_dir()]
    assert not errors and not warnings

"""The shared cases get the verdict written beside them. They lie outside the repository; without them this
module is skipped."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings

ROOT = Path(__file__).parent.parent
CASES = next((path for path in (ROOT.parent / "shared/cases",) if path.is_dir()), None)
if CASES is None:
    pytest.skip("no cases beside the repository", allow_module_level=True)

KNOWN = {rule.symbol for rule in all_rules()}
RIGHT = "right-code"


def expected(case: Path) -> tuple[set[tuple[str, int, str]], Settings]:
    """`file:line symbol` rows of expect.txt, and the settings that its comments ask for."""
    text = (case / "expect.txt").read_text("utf-8")
    rows = {(file, int(line), symbol) for file, line, symbol in re.findall(r"(?m)^(\S+):(\d+) (\S+)$", text)}
    assert rows or case.name == RIGHT
    return rows, Settings(profile="guide", sequence_parallel="sequence_parallel = true" in text)


def findings(case: Path, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """A run on a copy of one part of a case: the other parts would define the same names again."""
    source = case / part
    if source.is_dir():
        shutil.copytree(source, tmp_path / part)
    else:
        shutil.copy(case / f"{part}.py", tmp_path)
    (tmp_path / "setup.cfg").write_text("")
    monkeypatch.chdir(tmp_path)
    result = run([tmp_path], expected(case)[1])
    assert not result.skipped
    return result.findings


wrong = pytest.mark.parametrize(
    "case",
    [case for case in sorted(CASES.iterdir()) if (case / "expect.txt").exists() and case.name != RIGHT],
    ids=lambda case: case.name,
)


@wrong
def test_the_fault_is_found(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row for row in expected(case)[0] if row[2] in KNOWN}
    if not rows:
        pytest.skip("no rule for it yet")
    found = {
        (item.place.path, item.place.line, item.symbol)
        for item in findings(case, "bad", tmp_path, monkeypatch)
    }
    assert rows <= found


@wrong
def test_the_repaired_code_is_clean(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = {symbol for _, _, symbol in expected(case)[0]} & KNOWN
    if not symbols:
        pytest.skip("no rule for it yet")
    found = findings(case, "good", tmp_path, monkeypatch)
    assert not [item for item in found if item.symbol in symbols]


@pytest.mark.parametrize("path", sorted((CASES / RIGHT).glob("*.py")), ids=lambda path: path.stem)
def test_code_that_looks_wrong_and_is_right(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(path.parent, path.stem, tmp_path, monkeypatch)
    quiet = ("parallel-linear", "input-is-parallel")
    assert not [item for item in found if item.code.startswith("E") or item.symbol.startswith(quiet)]

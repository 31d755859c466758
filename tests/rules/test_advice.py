"""Advice is code: applied to what it is given for, the result parses, the finding is gone and no new one has come."""

from __future__ import annotations

import ast
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Edit, Finding
from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings, load_settings

FIXTURES = Path(__file__).parent
TYPED = [rule for rule in all_rules() if rule.fix_kind]
BY_HAND = [rule for rule in all_rules() if not rule.fix_kind]


# What one fault hides: a dict that becomes a tuple shows that the schedule carries one tensor.
UNCOVERED = {"stage-output-not-tuple": {"multi-tensor-on-stock-schedule"}}


def all_findings(folder: Path) -> list[Finding]:
    """What every rule finds in the current folder."""
    if not any((folder / name).exists() for name in ("setup.cfg", "pyproject.toml")):
        (folder / "setup.cfg").write_text("")
    has_settings = (folder / "pyproject.toml").exists() or bool((folder / "setup.cfg").read_text())
    settings = (
        load_settings(folder) if has_settings else Settings(tp=(1, 2, 4, 8), profile="guide", base=folder)
    )
    result = run([folder], settings)
    assert not result.skipped, "advice must leave code that parses"
    return result.findings


def apply(folder: Path, edits: Iterable[Edit]) -> None:
    """Type the edits, last first; one that several findings ask for is typed once."""
    for edit in sorted(set(edits), key=lambda edit: (edit.place, edit.text), reverse=True):
        place, path = edit.place, folder / edit.place.path
        lines = path.read_text("utf-8").split("\n")
        before = [*lines[: place.line - 1], lines[place.line - 1][: place.column]]
        behind = [lines[place.end_line - 1][place.end_column :], *lines[place.end_line :]]
        path.write_text("\n".join(before) + edit.text + "\n".join(behind), "utf-8")


def repaired(folder: Path, rule: Rule) -> tuple[list[Finding], list[Finding]]:
    """The findings before and after the typed fixes of one rule are applied."""
    before = all_findings(folder)
    fixes = [finding.fix for finding in before if finding.symbol == rule.symbol and finding.fix]
    apply(folder, (edit for fix in fixes for edit in fix.edits))
    for path in folder.rglob("*.py"):
        ast.parse(path.read_text("utf-8"))
    return before, all_findings(folder)


def write_example(folder: Path, rule: Rule, kind: str) -> None:
    (folder / "example.py").write_text(rule.example(kind), "utf-8")
    for name, text in rule.beside.items():
        (folder / name).write_text(text, "utf-8")


@pytest.mark.parametrize("rule", TYPED, ids=lambda rule: rule.symbol)
def test_typed_advice_mends_the_bad_example(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_example(tmp_path, rule, "bad")
    before, after = repaired(tmp_path, rule)
    mine = [finding for finding in before if finding.symbol == rule.symbol]
    assert mine and all(finding.fix for finding in mine), "every finding of the example has a typed fix"
    assert all(finding.fix.applicability == rule.fix_kind for finding in mine if finding.fix)
    text = (tmp_path / "example.py").read_text()
    assert not [finding.message for finding in after if finding.symbol == rule.symbol], text
    new = Counter(finding.symbol for finding in after) - Counter(finding.symbol for finding in before)
    assert not new, text


def bad_fixtures() -> list[tuple[Rule, Path]]:
    return [(rule, path) for rule in TYPED for path in sorted((FIXTURES / rule.symbol).glob("bad*"))]


@pytest.mark.parametrize(
    ("rule", "fixture"), bad_fixtures(), ids=lambda value: getattr(value, "symbol", None) or value.name
)
def test_typed_advice_mends_the_fixtures(
    rule: Rule, fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a finding of a fixture has a typed fix, that finding goes, and none comes."""
    if fixture.is_dir():
        shutil.copytree(fixture, tmp_path, dirs_exist_ok=True)
    else:
        shutil.copy(fixture, tmp_path)
    monkeypatch.chdir(tmp_path)
    before, after = repaired(tmp_path, rule)
    untyped = [finding for finding in before if finding.symbol == rule.symbol and not finding.fix]
    left = [finding.message for finding in after if finding.symbol == rule.symbol]
    text = "\n".join(path.read_text() for path in tmp_path.rglob("*.py"))
    assert len(left) <= len(untyped), text
    new = Counter(finding.symbol for finding in after) - Counter(finding.symbol for finding in before)
    assert not set(new) - UNCOVERED.get(rule.symbol, set()), text


# Where the good example cannot show it: names of files and places, and an import from another file.
NOT_SHOWN = {"distributed-naming", "training-script-location", "module-reimplemented"}
SHOWN = [rule for rule in BY_HAND if rule.symbol not in NOT_SHOWN]


def snippets(advice: str) -> list[str]:
    """What an advice puts between backticks."""
    return re.findall(r"`([^`]+)`", advice)


def parses(text: str) -> bool:
    text = text.replace("…", "...")
    forms = (text, f"f({text})", f"{text} pass", f"[{text}]", f"{{{text}}}", text.rstrip("(") + "()")
    for form in forms:
        try:
            ast.parse(form)
        except SyntaxError:
            continue
        return True
    return re.fullmatch(r"[\w.\-/{}\[\]*…<>]+", text) is not None  # a path, a file or a setting


def advice_of(rule: Rule, tmp_path: Path) -> list[str]:
    write_example(tmp_path, rule, "bad")
    return [finding.advice for finding in all_findings(tmp_path) if finding.symbol == rule.symbol]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)
def test_what_advice_tells_to_type_parses(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = advice_of(rule, tmp_path)
    assert given and all(given), "every finding says what to do"
    wrong = [text for advice in given for text in snippets(advice) if not parses(text)]
    assert not wrong


@pytest.mark.parametrize("rule", SHOWN, ids=lambda rule: rule.symbol)
def test_the_good_example_is_what_the_advice_says(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the code that the advice types, the new words stand in the good example."""
    monkeypatch.chdir(tmp_path)
    bad, good = (set(re.findall(r"\w+", rule.example(kind))) for kind in ("bad", "good"))
    for advice in advice_of(rule, tmp_path):
        typed = {text: set(re.findall(r"[A-Za-z_]\w*", text)) - bad for text in snippets(advice)}
        new = {text: words for text, words in typed.items() if words}
        is_code = any(not re.fullmatch(r"[\w.]+", text) for text in new)
        assert not is_code or any(words <= good for words in new.values()), (advice, new)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)
def test_a_rule_with_typed_edits_says_why_they_are_safe_or_not(rule: Rule) -> None:
    assert rule.fix_kind in ("", "safe", "unsafe")
    assert bool(rule.fix_note) == bool(rule.fix_kind)


def test_a_third_of_the_rules_type_their_fix() -> None:
    assert 3 * len(TYPED) >= len(all_rules())

"""Every rule says all it must say, finds its own bad example, and is silent on its own good one."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.report.checklists import CHECKLISTS
from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings, load_settings

FIXTURES = Path(__file__).parent
KINDS = ("bad", "good", "unknown")
rules = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)


def fixtures() -> list[tuple[str, Path]]:
    """Files and folders `tests/rules/<symbol>/{bad,good,unknown}*`."""
    return [
        (folder.name, fixture)
        for folder in sorted(FIXTURES.iterdir())
        if folder.is_dir() and folder.name != "__pycache__"
        for fixture in sorted(folder.iterdir())
        if fixture.suffix == ".py" or (fixture.is_dir() and fixture.name != "__pycache__")
    ]


def marked(folder: Path, symbol: str) -> Counter[tuple[str, int]]:
    """Lines that end in `# [symbol]`; several symbols may stand in the brackets, and one may stand there twice."""
    found: Counter[tuple[str, int]] = Counter()
    for path in sorted(folder.rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            if marker := re.search(r"#.*\[([a-z0-9, -]+)\]\s*$", line):
                for name in marker[1].split(","):
                    if name.strip() == symbol:
                        found[path.relative_to(folder).as_posix(), number] += 1
    return found


def findings(
    folder: Path, symbol: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Finding], list[Finding]]:
    """What a run in `folder` finds for one rule: decided, undecided. The guide applies unless the folder says so."""
    monkeypatch.chdir(folder)
    has_settings = any((folder / name).exists() for name in ("setup.cfg", "pyproject.toml"))
    if not has_settings:
        (folder / "setup.cfg").write_text("")  # the project ends here
    result = run(
        [folder],
        load_settings(folder) if has_settings else Settings(tp=(1, 2, 4, 8), profile="guide", base=folder),
    )
    assert not result.skipped
    return (
        [finding for finding in result.findings if finding.symbol == symbol],
        [finding for finding in result.undecided if finding.symbol == symbol],
    )


def check(kind: str, folder: Path, symbol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings of `symbol` are exactly the marked lines; good and unknown code has none."""
    expected = marked(folder, symbol)
    assert bool(expected) == (kind == "bad"), f"# [{symbol}] marks lines of bad code, and only those"
    decided, _ = findings(folder, symbol, monkeypatch)
    found = Counter((finding.place.path, finding.place.line) for finding in decided)
    assert found == expected, "\n".join(finding.message for finding in decided)


@rules
def test_a_rule_says_what_it_must(rule: Rule) -> None:
    assert re.fullmatch(r"[EWRC]7[1-7]\d\d", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.symbol)
    for name in ("title", "message", "why", "runtime", "limits", "guide"):
        text = rule.title() if name == "title" else getattr(rule, name)
        assert text.strip(), f"{rule.symbol}: {name} is empty"


def test_ids_and_symbols_are_unique() -> None:
    for names in ([rule.code[1:] for rule in all_rules()], [rule.symbol for rule in all_rules()]):
        assert len(names) == len(set(names))


@rules
@pytest.mark.parametrize("kind", ["bad", "good"])
def test_the_examples_of_a_rule(
    rule: Rule, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "example.py").write_text(rule.example(kind), "utf-8")
    for name, text in rule.beside.items():
        (tmp_path / name).write_text(text, "utf-8")
    check(kind, tmp_path, rule.symbol, monkeypatch)


@pytest.mark.parametrize(("symbol", "fixture"), fixtures(), ids=lambda value: getattr(value, "name", value))
def test_fixtures(symbol: str, fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert symbol in {rule.symbol for rule in all_rules()}
    kind = next(kind for kind in KINDS if fixture.name.startswith(kind))
    if fixture.is_dir():
        shutil.copytree(fixture, tmp_path, dirs_exist_ok=True)
    else:
        shutil.copy(fixture, tmp_path)
    check(kind, tmp_path, symbol, monkeypatch)


@rules
def test_every_rule_has_fixtures_of_each_kind(rule: Rule) -> None:
    names = {fixture.name for symbol, fixture in fixtures() if symbol == rule.symbol}
    missing = [kind for kind in KINDS if not any(name.startswith(kind) for name in names)]
    assert not missing, f"add tests/rules/{rule.symbol}/{missing[0]}.py"


@rules
def test_a_rule_watches_over_a_line_of_a_checklist(rule: Rule) -> None:
    named = {name for checks in CHECKLISTS.values() for check in checks for name in check.rules.split()}
    assert rule.symbol in named, "name it in the line of checkers/report/checklists.py that asks for it"


def test_checklists_name_rules_that_exist() -> None:
    named = {name for checks in CHECKLISTS.values() for check in checks for name in check.rules.split()}
    assert named <= {rule.symbol for rule in all_rules()}

"""The pages of the rules and of the guide's coverage are whole and up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from onescience_check.checkers.frontends.explanation import print_explanation
from onescience_check.checkers.frontends.lesson import PLACEMENTS
from onescience_check.checkers.report.checklists import CHECKLISTS
from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import load_settings

DOCS = Path(__file__).parent.parent / "docs"
SYMBOLS = {rule.symbol for rule in all_rules()}


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_rules", DOCS / "make_rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rules_page_is_up_to_date(maker: ModuleType) -> None:
    assert (DOCS / "rules.md").read_text("utf-8") == maker.page(), "run `python docs/make_rules.py`"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)
def test_each_rule_has_one_whole_row_that_links_to_its_class(rule: Rule) -> None:
    text = (DOCS / "rules.md").read_text("utf-8")
    rows = re.findall(rf"(?m)^\| {rule.code} \| \[{rule.symbol}\]\((.*?)\) \|(.*)\|$", text)
    assert len(rows) == 1
    link, rest = rows[0]
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", rest)]
    assert len(cells) == 4 and all(cells)
    assert f'"{rule.symbol}"' in (DOCS / link).read_text("utf-8")


def test_the_page_is_an_index_that_a_person_can_read() -> None:
    lines = (DOCS / "rules.md").read_text("utf-8").splitlines()
    assert len(lines) < 2 * len(SYMBOLS)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)
def test_explain_says_everything_of_a_rule(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation(rule)
    text = capsys.readouterr().out
    parts = ("Why", "At run time", "Wrong", "Right", "Limits", "Applies to", "Fix", "Guide", "Switch off")
    for part in parts:
        found = re.findall(rf"(?m)^{part}\n  \S", text)
        assert len(found) == 1, part


def coverage() -> list[tuple[str, str, str]]:
    """Rows of the coverage page: section of the guide, what it asks, what answers."""
    text = (DOCS / "guide-coverage.md").read_text("utf-8")
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in re.findall(r"(?m)^\|.*\|$", text)]
    cells = [tuple(cell.strip() for cell in row) for row in rows if not set("".join(row)) <= set("-| ")]
    assert all(len(row) == 3 for row in cells)
    return [row for row in cells if row[0] != "section"]  # type: ignore[misc]


def test_every_sentence_of_the_coverage_page_has_an_answer() -> None:
    rows = coverage()
    assert rows
    for section, asked, answer in rows:
        assert section and asked
        named = set(re.findall(r"`([a-z][a-z0-9-]+-[a-z0-9-]+)`", answer))
        assert named <= SYMBOLS, f"no rule is called {named - SYMBOLS}"
        assert named or answer.startswith(("report:", "not checkable:")), answer


def test_the_coverage_page_names_every_table_that_exists() -> None:
    tables = set(re.findall(r"report: ([a-z -]+) table", " ".join(answer for _, _, answer in coverage())))
    assert tables == {"file", "registry", "boundary", "balance", "drop-path"}


def test_every_guide_rule_is_in_the_coverage_page() -> None:
    text = " ".join(answer for _, _, answer in coverage())
    lacking = [
        r.symbol for r in all_rules() if not r.guide.startswith("beyond") and f"`{r.symbol}`" not in text
    ]
    assert not lacking


def test_checklists_name_rules_that_exist() -> None:
    assert {s for checks in CHECKLISTS.values() for check in checks for s in check.rules.split()} <= SYMBOLS


def test_the_page_of_placements_is_what_explain_prints() -> None:
    assert (DOCS / "placements.md").read_text("utf-8") == PLACEMENTS
    named = set(re.findall(r"[EW]7\d{3}", PLACEMENTS))
    assert named <= {rule.code for rule in all_rules()}


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_settings_of_the_readme_can_be_copied(name: str, tmp_path: Path) -> None:
    block = re.search(r"```ini\n(.*?)```", (DOCS.parent / name).read_text("utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "setup.cfg").write_text(block[1], "utf-8")
    settings = load_settings(tmp_path)
    assert settings.profile == "auto" and settings.exclude == ("third_party/", "*_old.py")

"""Write docs/ground-truth.md from tests/mutants/mutants.json and the rules: `python docs/make_ground_truth.py`."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules

DOCS = Path(__file__).parent
DATA = DOCS.parent / "tests" / "mutants" / "mutants.json"
HEAD = """# Ground truth: what each rule's mistake does at run time

Made by `python docs/make_ground_truth.py` from `tests/mutants/mutants.json`; `python -m tests.mutants.trees` measures
again.

Each row is one mistake made in the reference models: the rule that reading reports, where, and what
`onescience-check verify --numbers` shows first when the model runs with it.
"""


def page() -> str:
    """The text of the page."""
    mutants = json.loads(DATA.read_text("utf-8"))
    by_symbol: dict[str, list[dict]] = defaultdict(list)
    for row in mutants:
        for symbol in dict.fromkeys(symbol for symbol, *_ in row["static"]):
            by_symbol[symbol].append(row)
    rules = [rule for rule in all_rules() if rule.code[0] in "EW"]
    shown = [rule for rule in rules if rule.symbol in by_symbol]
    parts = [HEAD, *_figures(mutants, rules, shown), "## Rules and their mistakes\n"]
    parts += ["| rule | mistake | found at | a run shows |\n| --- | --- | --- | --- |"]
    for rule in sorted(shown, key=lambda rule: rule.code[1:]):
        parts += [_row(rule, row) for row in by_symbol[rule.symbol]]
    parts += [
        "\n## Mistakes that only a run shows\n",
        "| mistake | file | a run shows |\n| --- | --- | --- |",
    ]
    parts += [
        f"| {_cell(row['title'])} | {_name(row['edits'][0][0])} | {_run(row)} |"
        for row in mutants
        if not row["static"] and row["run"]
    ]
    quiet = [row for row in mutants if row["harm"] != "none" and not row["run"] and not row["static"]]
    if quiet:
        parts += ["\n## Harmful mistakes that neither shows\n"]
        parts += [f"- {row['title']} ({_name(row['edits'][0][0])})" for row in quiet]
    parts += ["\n## Rules without a mistake here\n"]
    parts += [
        "The reference models cannot express these, or no mistake was made for them yet. Their bad examples are in "
        "`tests/rules/<symbol>/`.\n"
    ]
    parts += [f"- {rule.code} {rule.symbol}" for rule in rules if rule.symbol not in by_symbol]
    return "\n".join(parts) + "\n"


def _figures(mutants: list[dict], rules: list[Rule], shown: list[Rule]) -> list[str]:
    harmful = [row for row in mutants if row["harm"] != "none"]
    read = sum(bool(row["static"]) for row in harmful)
    ran = sum(bool(row["run"]) for row in harmful)
    either = sum(bool(row["static"] or row["run"]) for row in harmful)
    return [
        f"{len(mutants)} mistakes, {len(harmful)} of them harmful: reading finds {read}, a run {ran}, both together "
        f"{either}. {len(shown)} of {len(rules)} E and W rules have a mistake here.\n"
    ]


def _row(rule: Rule, row: dict) -> str:
    path, line = next((path, line) for symbol, path, line in row["static"] if symbol == rule.symbol)
    return f"| {rule.code} {rule.symbol} | {_cell(row['title'])} | {_name(path)}:{line} | {_run(row)} |"


def _run(row: dict) -> str:
    run = row["run"]
    if run is None:
        return "nothing: it works today" if row["harm"] == "none" else "nothing"
    place = f" at {_name(run['path'])}:{run['line']}" if run["path"] else ""
    return f"{run['kind']}: {_cell(run['message'][:160])}{place}"


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    (DOCS / "ground-truth.md").write_text(page(), "utf-8")

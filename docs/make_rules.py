"""Write docs/rules.md from the rule classes; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from onescience_check.checkers.rule import Rule, Scope
from onescience_check.checkers.rules import all_rules

PAGE = Path(__file__).parent / "rules.md"
GROUPS = {
    "71": "Tensor parallel",
    "72": "Pipeline stages",
    "73": "Module interface",
    "74": "Project structure",
    "75": "Training script",
    "76": "Numerics and cost",
    "77": "Ranks and collectives",
}
FIXES = {"safe": "safe", "unsafe": "needs a reader", "": "by hand"}
SCOPES = {Scope.UNIVERSAL: "all Megatron-style code", Scope.GUIDE: "trees that follow the OneScience guide"}


def page() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    rules = sorted(all_rules(), key=lambda rule: (rule.code[1:], rule.code))
    yield from ("# Rules", "", "Made by `python docs/make_rules.py` from the rule classes; do not edit.", "")
    yield "Letters: E crashes, hangs or computes the wrong thing; W works today and is a trap;"
    yield "R wastes time, memory or bandwidth; C is naming and layout."
    for digits, title in GROUPS.items():
        yield from (
            "",
            f"## {title}",
            "",
            "| id | symbol | what is wrong | guide | fix | maturity |",
            "|---|---|---|---|---|---|",
        )
        for rule in rules:
            if rule.code[1:3] == digits:
                cells = (
                    rule.code,
                    f"[{rule.symbol}](#{rule.symbol})",
                    rule.title(),
                    rule.guide,
                    FIXES[rule.fix_kind],
                )
                yield f"| {' | '.join(map(_cell, cells))} | {rule.maturity} |"
    for rule in rules:
        yield from _section(rule)


def _section(rule: Rule) -> Iterator[str]:
    yield from ("", f'<a id="{rule.symbol}"></a>', "", f"## {rule.code} {rule.symbol}", "", rule.title(), "")
    yield from (f"**Why.** {_flat(rule.why)}", "")
    yield from (f"**At run time.** It {rule.symptom.value}. {_flat(rule.runtime)}", "")
    yield from ("Wrong:", "", "```python", rule.example("bad").rstrip(), "```", "")
    yield from ("Right:", "", "```python", rule.example("good").rstrip(), "```", "")
    yield from (f"**Limits.** {_flat(rule.limits)}", "")
    yield from (
        f"**Applies to** {SCOPES[rule.scope]}. **Guide:** {rule.guide}. **Fix:** {FIXES[rule.fix_kind]}.",
        "",
    )
    yield f"Switch off one line with `# pylint: disable={rule.symbol}`."


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if PAGE.is_file() and PAGE.read_text("utf-8") == page() else "docs/rules.md is out of date"
        )
    PAGE.write_text(page(), "utf-8")

"""Write docs/rules.md from the rule classes; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from onescience_check.checkers.rule import Scope
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
FIXES = {"safe": "safe", "unsafe": "with a reader", "": "by hand"}
SCOPES = {Scope.UNIVERSAL: "all", Scope.GUIDE: "guide"}
HEAD = """# Rules

Made by `python docs/make_rules.py` from the rule classes; do not edit.

`onescience-check explain SYMBOL` prints the whole of a rule: why, a wrong and a right example, what happens at run
time, limits, how safe its repair is. The links lead to the same texts in its class. `# pylint: disable=SYMBOL`
switches a rule off, for a line or a block.

- **Letter**: E crashes, hangs or computes the wrong thing; W works today and is a trap; R wastes time, memory or
  bandwidth; C is naming and layout.
- **Scope**: *all* Megatron-style code, or only trees that follow the OneScience *guide* (setting `profile`).
- **Fix**: *safe* is what `onescience-check fix` types by itself; *with a reader* is typed with `--unsafe`; the rest is
  done *by hand*."""


def page() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    rules = sorted(all_rules(), key=lambda rule: (rule.code[1:], rule.code))
    yield HEAD
    for digits, title in GROUPS.items():
        yield from (
            "",
            f"## {title}",
            "",
            "| id | symbol | what is wrong | scope | fix | guide |",
            "|---|---|---|---|---|---|",
        )
        for rule in rules:
            if rule.code[1:3] == digits:
                link = f"[{rule.symbol}](../checkers/rules/{type(rule).__module__.rsplit('.', 1)[-1]}.py)"
                cells = (rule.code, link, rule.title(), SCOPES[rule.scope], FIXES[rule.fix_kind], rule.guide)
                yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if PAGE.is_file() and PAGE.read_text("utf-8") == page() else "docs/rules.md is out of date"
        )
    PAGE.write_text(page(), "utf-8")

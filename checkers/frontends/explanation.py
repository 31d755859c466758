"""What `explain` and `rules` print, read from the rule classes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ..rule import Rule, Scope
from ..rules import all_rules


def print_explanation(rule: Rule) -> None:
    """Everything the class of a rule says."""
    console = Console(highlight=False, emoji=False, markup=False)
    console.print(Text(f"{rule.code} {rule.symbol}", style="bold"))
    console.print(textwrap.fill(rule.title(), console.width, break_long_words=False), soft_wrap=True)
    for name, text in (
        ("Why", rule.why),
        ("At run time", f"It {rule.symptom.value}. {rule.runtime}"),
        ("Wrong", rule.example("bad")),
        ("Right", rule.example("good")),
        ("Limits", rule.limits),
        ("Applies to", _SCOPES[rule.scope]),
        ("Fix", rule.fix_text()),
        ("Guide", rule.guide),
        ("Switch off", f"# pylint: disable={rule.symbol}"),
    ):
        console.print(Text(f"\n{name}", style="bold"))
        is_code = name in ("Wrong", "Right")
        if is_code:  # never cropped and never padded: it is there to be copied
            code = Syntax("", "python", background_color="default").highlight(text)
            console.print(
                Text("\n").join(Text("  ") + line if line else line for line in code.split()), soft_wrap=True
            )
        else:
            text = textwrap.fill(" ".join(text.split()), console.width - 2, break_long_words=False)
            console.print(textwrap.indent(text, "  "), soft_wrap=True)


_SCOPES = {
    Scope.UNIVERSAL: "all Megatron-style code",
    Scope.GUIDE: "trees that follow the OneScience guide (setting profile = auto | guide | universal)",
}


def print_rules(rules: Sequence[Rule] = ()) -> None:
    """One line a rule: id, symbol, what is wrong; all rules when none is given."""
    chosen = rules or all_rules()
    width = max((len(rule.symbol) for rule in chosen), default=0)
    for rule in chosen:
        guide = "  (guide)" if rule.scope is Scope.GUIDE else ""
        print(f"{rule.code}  {rule.symbol:<{width}}  {rule.title()}{guide}")

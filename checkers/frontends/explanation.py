"""What `explain` and `rules` print, read from the rule classes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from importlib.resources import files

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ..language import listed, local, tr
from ..rule import Rule, Scope
from ..rules import all_rules
from .references import reference
from .wrapping import wrapped


def print_explanation(rule: Rule) -> None:
    """Everything the class of a rule says."""
    console = Console(highlight=False, emoji=False, markup=False)
    console.print(Text(f"{rule.code} {rule.symbol}", style="bold"))
    console.print(_wrapped(rule.title(), console.width), soft_wrap=True)
    for name, text, is_code in explanation(rule):
        console.print(Text(f"\n{local(name)}", style="bold"))
        if is_code:  # never cropped and never padded: it is there to be copied
            code = Syntax("", "python", background_color="default").highlight(text)
            console.print(
                Text("\n").join(Text("  ") + line if line else line for line in code.split()), soft_wrap=True
            )
        else:
            console.print(textwrap.indent(_wrapped(text, console.width - 2), "  "), soft_wrap=True)


def explanation(rule: Rule) -> Iterator[tuple[str, str, bool]]:
    """The parts of what a class says: its name, its text, and whether that is code. A project's own rule says no more
    than it likes."""
    applies = tr("this project: %(file)s", file=rule.source) if rule.source else _SCOPES[rule.scope]
    parts = (
        (tr("Why"), rule.why, False),
        (tr("At run time"), run_time(rule), False),
        *_shown(rule),
        (tr("Wrong"), rule.example("bad"), True),
        (tr("Right"), rule.example("good"), True),
        (tr("Reference"), reference(rule.symbol), False),
        (tr("Limits"), rule.limits, False),
        (tr("Applies to"), applies, False),
        (tr("Fix"), rule.fix_text(), False),
        (tr("Guide"), listed("; ", (tr(part.strip()) for part in rule.guide.split(";"))), False),
        (tr("Switch off"), f"# pylint: disable={rule.symbol}", False),
    )
    return (part for part in parts if part[1].strip())


def run_time(rule: Rule) -> str:
    """What the fault does when the job runs."""
    said = tr(rule.symptom.value)
    return tr("It %(symptom)s. %(runtime)s", symptom=said, runtime=tr(" ".join(rule.runtime.split())))


def _shown(rule: Rule) -> list[tuple[str, str, bool]]:
    """What a run of the reference model showed, with a mistake of this kind made in it; see docs/ground-truth.md."""
    text = files(__package__).joinpath("templates/evidence.json").read_text("utf-8")
    found = json.loads(text).get(rule.symbol)
    return [(tr("Seen in a run"), f"{found[0]} -> {found[1]}", False)] if found else []


def _wrapped(text: str, width: int) -> str:
    """The text in the language of the reader, in lines of this width."""
    return "\n".join(wrapped(local(text), width))


_SCOPES = {
    Scope.UNIVERSAL: tr("all Megatron-style code"),
    Scope.GUIDE: tr("trees that follow the OneScience guide (setting profile = auto | guide | universal)"),
}


def print_rules(rules: Sequence[Rule] = ()) -> None:
    """One line a rule: id, symbol, what is wrong; all rules when none is given."""
    chosen = rules or all_rules()
    width = max((len(rule.symbol) for rule in chosen), default=0)
    for rule in chosen:
        guide = f"  ({local('guide')})" if rule.scope is Scope.GUIDE else ""
        print(f"{rule.code}  {rule.symbol:<{width}}  {local(rule.title())}{guide}")

"""A diagnosis for a reader."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ..diagnose.answer import spans
from ..diagnose.words import say
from .streams import visible

_MESSAGE_LINES = 6


def render(said: dict[str, Any], language: str) -> None:
    """Print the answer on standard output."""
    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
    log = said["log"]
    ranks = say("ranks", language, ranks=spans(log["ranks"])) if log["ranks"] else say("no-ranks", language)
    names = ", ".join(log["names"][:4]) + (" …" if len(log["names"]) > 4 else "")
    console.print(visible(say("read", language, names=names, lines=f"{log['lines']:,}", ranks=ranks)))
    if said["kind"] == "none-seen":
        console.print(Text(said["title"], style="bold"))
    _notes(console, said)
    if said["kind"] == "none-seen":
        return
    console.print()
    _story(console, said, language)
    _causes(console, said, language)
    _advice(console, said, language)


def _notes(console: Console, said: dict[str, Any]) -> None:
    for note in said["notes"]:
        console.print(Text(visible(note), style="yellow"))


def _story(console: Console, said: dict[str, Any], language: str) -> None:
    console.print(Text(say("story", language), style="bold"))
    for line in said["story"]:
        console.print(visible(f"  {line}"))
    for line in said["first"]["message"].split("\n")[:_MESSAGE_LINES]:
        console.print(Text(visible(f"    {line}"), style="red"))
    console.print()
    console.print(
        Text(say("kind", language) + ("：" if language == "zh" else ": "), style="bold").append(
            f"{said['title']} ({said['kind']})", "not bold"
        )
    )
    console.print()


def _causes(console: Console, said: dict[str, Any], language: str) -> None:
    if not said["causes"]:
        console.print(say("no-causes", language))
        console.print()
        return
    console.print(Text(say("causes", language), style="bold"))
    for number, cause in enumerate(said["causes"], 1):
        head = Text(f"  {number}. ").append(visible(f"{cause['path']}:{cause['line']}"), style="bold")
        if cause["symbol"]:
            head.append(f"  {cause['id']} {cause['symbol']}", style="bold red")
        console.print(head)
        if cause["code"]:
            console.print(Text(visible(f"       {cause['code']}"), style="dim"))
        if cause["message"]:
            console.print(visible(f"     {cause['message']}"))
        console.print(visible(f"     {('；' if language == 'zh' else '; ').join(cause['reasons'])}"))
        if cause["fix"]:
            where = f" ({', '.join(cause['edit_lines'])})" if cause["edit_lines"] else ""
            colon = "：" if language == "zh" else ": "
            label = Text(f"     {say('fix', language)}{colon}", style="bold green")
            console.print(label.append(visible(cause["fix"] + where), style="not bold default"))
    console.print()


def _advice(console: Console, said: dict[str, Any], language: str) -> None:
    if not said["explained"]:
        _line(console, say("explains", language), said["must_be_true"])
    _line(console, say("in-general", language), said["fix"])
    if said["reference"]:
        _line(console, say("reference", language), said["reference"])
    _line(console, say("verify", language), said["verify"])


def _line(console: Console, label: str, text: str) -> None:
    colon = "" if label.endswith("：") else "：" if not label.isascii() else ": "
    console.print(Text(label + colon, style="bold").append(visible(text), style="not bold"))

"""`--help` of every command, in the language of the reader."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from typer.main import get_command

from ..language import local, tr, use
from .wrapping import wrapped

_WIDEST = 100
_GAP = 2


NAME = "onescience-check"


def print_help(app: Any, arguments: Sequence[str]) -> None:
    """Help on the command that the arguments begin with, or on all."""
    _speak(arguments)
    command: Any = get_command(app)
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    inner = getattr(command, "commands", {}).get(arguments[0])
    print("\n".join(_of_all(command, width) if inner is None else _of_one(inner, width)))


def _speak(arguments: Sequence[str]) -> None:
    """The language that `--lang` names, which is looked at before anything is parsed."""
    for one, following in zip(arguments, [*arguments[1:], ""], strict=True):
        asked = following if one == "--lang" else one.removeprefix("--lang=")
        if one.startswith("--lang") and asked in ("zh", "en"):
            use(asked)


def _of_all(command: Any, width: int) -> Iterator[str]:
    yield from wrapped(f"{local(tr('Usage:'))} {NAME} {local(tr('COMMAND'))} [...]", width)
    yield from _paragraphs(command.help, width)
    yield from ("", local(tr("Commands:")))
    yield from _table([(each, _said(inner.help)[0]) for each, inner in command.commands.items()], width)
    yield from _paragraphs(command.epilog, width)


def _of_one(command: Any, width: int) -> Iterator[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    words = [_placeholder(param) for param in arguments]
    usage = [local(tr("Usage:")), NAME, command.name, f"[{local(tr('OPTIONS'))}]", *words]
    yield from wrapped(" ".join(usage), width)
    yield from _paragraphs(command.help, width)
    if arguments:
        yield from ("", local(tr("Arguments:")))
        yield from _table([(_placeholder(param), _about(param)) for param in arguments], width)
    yield from ("", local(tr("Options:")))
    rows = [(_spelling(param), _about(param)) for param in options if param.name != "help"]
    rows.append(("--help, -h", local(tr("Show this and exit."))))
    yield from _table(rows, width)


def _placeholder(param: Any) -> str:
    shown = (param.metavar or param.name).upper() + ("..." if param.nargs == -1 else "")
    return shown if param.required else f"[{shown}]"


def _spelling(param: Any) -> str:
    names = ", ".join(param.opts)
    if param.is_flag:
        return names
    return f"{names} {param.metavar}"


def _about(param: Any) -> str:
    default = getattr(param.default, "value", param.default)
    said = local(" ".join((param.help or "").split()))
    if isinstance(default, (int, float, str)) and not isinstance(default, bool) and default:
        said += local(
            tr(" [default: %(value)s]", value=f"{default:g}" if default != str(default) else default)
        )
    return said


def _said(text: str | None) -> list[str]:
    """The paragraphs of a text."""
    return [local(" ".join(part.split())) for part in (text or "").split("\n\n") if part.strip()]


def _paragraphs(text: str | None, width: int) -> Iterator[str]:
    for part in _said(text):
        yield from ("", *wrapped(part, width))


def _table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Two columns; what is too long for the first has a line of its own."""
    first = min(max(cell_len(left) for left, _ in rows), width // 3)
    room = width - first - 2 * _GAP
    for left, right in rows:
        lines = wrapped(right, room)
        shown = left
        if cell_len(left) > first:
            yield f"  {left}"
            shown = ""
        for line in lines:
            yield f"  {shown}{' ' * (first - cell_len(shown) + _GAP)}{line}".rstrip()
            shown = ""

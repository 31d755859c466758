"""The option `--lang` of every command that speaks to a reader."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import typer

from ..language import use


class Language(str, Enum):
    """Languages with a catalog, and English."""

    zh = "zh"
    en = "en"


def _speak(chosen: Language | None) -> Language | None:
    if chosen is not None:
        use(chosen.value)
    return chosen


Lang = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        metavar="zh|en",
        help="Language of the output; that of the locale if not given (JSON: English).",
        callback=_speak,
        is_eager=True,
    ),
]


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether help is wanted; what stands behind `--` is for another program."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--help" in own or "-h" in own

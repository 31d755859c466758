"""What the runtime says, in the language that the locale asks for: the code speaks English, `zh.txt` has the Chinese.

A sentence is translated where it is printed, so that what programs read, `verify` among them, stays English.
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

Patterns = list[tuple[re.Pattern[str], str]]

_GAP = re.compile(
    "(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])"
)  # of two Chinese words that fields bring together


def local(text: str) -> str:
    """The text in the language of the locale, line by line; what nobody has translated stays as it is."""
    asked = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    if not asked.lower().startswith("zh"):
        return text
    return "\n".join(_GAP.sub("", translated(line, _patterns())) for line in text.split("\n"))


def translated(text: str, patterns: Patterns) -> str:
    """The text by the first pattern that it is an instance of, what it is filled with likewise; else as it is."""
    for pattern, chinese in patterns:
        if match := pattern.fullmatch(text):
            return chinese.format(*(translated(part, patterns) for part in match.groups()))
    return text


def patterns_of(pairs: Iterable[tuple[str, str]]) -> Patterns:
    """What stands in front of a message before all messages; among each, those with the most words first."""
    ordered = sorted(
        pairs,
        key=lambda pair: (not pair[0].startswith(("error", "warning")), -len(pair[0].replace("{}", ""))),
    )
    return [
        (re.compile("(.+?)".join(map(re.escape, english.split("{}"))), re.DOTALL), chinese)
        for english, chinese in ordered
    ]


@cache
def _patterns() -> Patterns:
    return patterns_of(sentences().items())


def sentences() -> dict[str, str]:
    """Every sentence with its Chinese."""
    text = Path(__file__).with_name("zh.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(zip(lines[::2], lines[1::2], strict=True))

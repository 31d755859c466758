"""What the runtime says, in the language that the locale asks for: the code speaks English, `zh.txt` has the Chinese.

A sentence is translated where it is printed, so that what programs read, `verify` among them, stays English.
"""

import os
import re
from functools import cache
from pathlib import Path

_GAP = re.compile(
    "(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])"
)  # of two Chinese words that fields bring together


def local(text: str) -> str:
    """The text in the language of the locale, line by line; what nobody has translated stays as it is."""
    asked = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    if not asked.lower().startswith("zh"):
        return text
    return "\n".join(_GAP.sub("", _chinese(line)) for line in text.split("\n"))


def _chinese(line: str) -> str:
    for pattern, chinese in _patterns():
        if match := pattern.fullmatch(line):
            return chinese.format(*map(_chinese, match.groups()))
    return line


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """What stands in front of a message before all messages; among each, those with the most words first."""
    ordered = sorted(
        sentences().items(),
        key=lambda pair: (not pair[0].startswith(("error", "warning")), -len(pair[0].replace("{}", ""))),
    )
    return [
        (re.compile("(.+?)".join(map(re.escape, english.split("{}")))), chinese)
        for english, chinese in ordered
    ]


def sentences() -> dict[str, str]:
    """Every sentence with its Chinese."""
    text = Path(__file__).with_name("zh.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(zip(lines[::2], lines[1::2], strict=True))

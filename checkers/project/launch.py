"""What shell scripts beside a training script start it with: options that are whole numbers, or variables for one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import disk
from .training import TrainingScript

_FILES = ("*.sh", "*.slurm", "*.sbatch", "scripts/*.sh", "scripts/*.slurm")
_MOST = 40
_OPTION = re.compile(r"""--([a-z][\w-]*)(?:=|[ \t]+)["']?(\d+|\$\{?\w+\}?)["']?(?=[\s"'\\)]|$)""")
_NAMED = re.compile(r"--([a-z][\w-]*)")
_SET = re.compile(r"^\s*(?:export\s+|local\s+|readonly\s+)?(\w+)=([^\s;#]*)", re.MULTILINE)
_NUMBER = re.compile(r"""["']?(?:\$\{\w+:?-)?(\d+)\}?["']?$""")


@dataclass(frozen=True)
class Launch:
    """One shell script: `options` holds what an option is, where it is a number and the same everywhere, and its line.

    `named` are all options that are written, whatever they are given.
    """

    display: str
    options: dict[str, tuple[int, int]]
    named: frozenset[str]

    def number(self, *names: str) -> int | None:
        """The value of an option that may be written under several names."""
        found = {self.options[name][0] for name in names if name in self.options}
        return found.pop() if len(found) == 1 else None

    def line(self, *names: str) -> int:
        return next((self.options[name][1] for name in names if name in self.options), 1)


def launches(script: TrainingScript) -> Iterator[Launch]:
    """The shell scripts beside a training script, or in a folder `scripts` there, that start it alone."""
    folder = script.module.path.parent
    for pattern in _FILES:
        for path in disk.matching(folder, pattern)[:_MOST]:
            try:
                text = disk.read(path).decode(errors="ignore")
            except OSError:
                continue
            text = _without_comments(text)
            if set(re.findall(r"[\w-]+\.py\b", text)) == {script.module.path.name}:
                named = frozenset(name.replace("_", "-") for name in _NAMED.findall(text))
                yield Launch(_display(script, path), _options(text), named)


def _display(script: TrainingScript, path: Path) -> str:
    return (
        script.module.display.removesuffix(script.module.path.name)
        + path.relative_to(script.module.path.parent).as_posix()
    )


def _without_comments(text: str) -> str:
    return "\n".join(
        re.sub(r"(?:^|\s)#.*", lambda found: " " * len(found[0]), line) for line in text.split("\n")
    )


def _options(text: str) -> dict[str, tuple[int, int]]:
    variables: dict[str, set[str]] = {}
    for found in _SET.finditer(text):
        variables.setdefault(found[1], set()).add(found[2])
    values: dict[str, dict[int | None, int]] = {}
    for found in _OPTION.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        value = _number(found[2], variables)
        values.setdefault(found[1].replace("_", "-"), {}).setdefault(value, line)
    return {
        name: (value, line)
        for name, seen in values.items()
        for value, line in seen.items()
        if len(seen) == 1 and value is not None
    }


def _number(text: str, variables: dict[str, set[str]]) -> int | None:
    if text.isdigit():
        return int(text)
    said = variables.get(text.strip("${}"), set())
    found = _NUMBER.match(next(iter(said))) if len(said) == 1 else None
    return int(found[1]) if found else None

"""Lines of the checklists that were answered by hand: `# onescience: checked <line> <state> <reason>`.

The comment stands on a line of its own in a file of the model. `state` is a hash of the code that the report looks at,
which the report prints: once that code changes, the answer is stale and the line is open again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .model import At
from .subjects import Subject

_MARK = re.compile(r"#\s*onescience:\s*checked\s+([\w-]+)\s+([0-9a-f]{8})\s+(\S.*)")
_WORDS = 4


@dataclass(frozen=True)
class Answer:
    state: str
    reason: str
    at: At


class Answers:
    """The answers in a model's files, and the state that they must name."""

    def __init__(self, subject: Subject) -> None:
        self.state = _state(subject)
        self._found: dict[str, Answer] = {}
        for module in subject.reach.modules:
            for number, line in enumerate(module.lines, 1):
                if match := _MARK.fullmatch(line.strip()):
                    name, state, reason = match.groups()
                    answer = Answer(state, reason, At(module.display, number))
                    if name not in self._found or state == self.state:
                        self._found[name] = answer

    def of(self, name: str) -> Answer | None:
        return self._found.get(name)


def line_name(text: str) -> str:
    """How a comment names a line: its first words."""
    return "-".join(re.findall(r"[a-z0-9_]+", text.lower())[:_WORDS])


def _state(subject: Subject) -> str:
    parts = sorted(_code(text) for text in _texts(subject))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _texts(subject: Subject) -> Iterator[str]:
    """Everything that the lines speak of: what the stages and scripts lead to, the original, the YAML files."""
    yield from (text for _, text in subject.reach.texts())
    if subject.original is not None:
        yield subject.original.text
    for load in subject.configs:
        if load.file is not None:
            yield load.file.path.read_text("utf-8", "replace") if load.file.path.is_file() else ""


def _code(text: str) -> str:
    """A text without comments on lines of their own, blank lines and spaces at the ends: answers are no code."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))

"""Texts in two languages, in the manner of gettext: English templates are the keys of the catalogs in `locale/`.

`tr("`%(name)s` is built here", name=name)` is the English text, a `str` like any other, and remembers what it was made
of; `local(text)` says it in the language of the reader, its fields too where they are such texts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

COUNTED = "%(number)s × %(noun)s"
"""The key under which catalogs say how a number and a noun are put together."""

Value = TypeVar("Value")

_JOINT = re.compile(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[\u4e00-\u9fff])")

LOCALE = Path(__file__).parent / "locale"
_current: ContextVar[str] = ContextVar("language", default="en")


class Translatable(str):
    """English text with the template and the fields it was made of."""

    template: str
    fields: dict[str, Any]

    def __new__(cls, english: str, template: str, fields: dict[str, Any]) -> Translatable:
        made = super().__new__(cls, english)
        made.template, made.fields = template, fields
        return made

    def __str__(self) -> Translatable:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self[:], self.template, self.fields)

    def local(self, catalog: Mapping[str, str]) -> str:
        """The text by a catalog; in English what the catalog does not have."""
        if self.template not in catalog:
            return self[:]
        fields = {name: _said(value, catalog) for name, value in self.fields.items()}
        return catalog[self.template] % fields if fields else catalog[self.template]


class _Joined(Translatable):
    """Parts with a separator between them."""

    def local(self, catalog: Mapping[str, str]) -> str:
        parts = (_said(part, catalog) for part in self.fields.values())
        return catalog.get(self.template, self.template).join(parts)


TRANSLATABLE: dict[str, type[Translatable]] = {"Translatable": Translatable, "_Joined": _Joined}
"""The kinds of texts that `tr` and `listed` make, by name."""


def tr(template: str, /, **fields: Any) -> str:
    """The English text of a %-template and its fields; `%%` is a percent sign where there are fields."""
    kept = {
        name: value if isinstance(value, (Translatable, int, float)) else str(value)
        for name, value in fields.items()
    }
    return Translatable(template % fields if fields else template, template, kept)


def counted(number: int, noun: str) -> str:
    """`3 stages`, `1 boundary`. A catalog has `× stage`, the noun behind a number."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    english = f"1 {noun}" if number == 1 else f"{number} {plural}"
    fields = {"number": number, "noun": Translatable(noun, f"× {noun}", {})}
    return Translatable(english, COUNTED, fields)


def listed(separator: str, parts: Iterable[str]) -> str:
    """Texts in a row."""
    fields = {str(number): part for number, part in enumerate(parts)}
    return _Joined(separator.join(fields.values()), separator, fields)


def local(text: str) -> str:
    """A text in the language of the reader: one that `tr` made, or a fixed one that the catalogs have."""
    name = _current.get()
    return text if name == "en" else _spaced(_local(text, catalog(name)))


def localized(value: Value) -> Value:
    """Plain data with every text that `tr` made in the language of the reader."""
    if isinstance(value, dict):
        return {key: localized(item) for key, item in value.items()}  # type: ignore[return-value]
    if isinstance(value, (list, tuple)):
        return type(value)(map(localized, value))
    return local(value) if isinstance(value, Translatable) else value  # type: ignore[return-value]


def _local(text: str, texts: Mapping[str, str]) -> str:
    if isinstance(text, Translatable):
        return text.local(texts)
    return texts.get(text) or texts.get(" ".join(text.split()), text)


def _said(value: Any, texts: Mapping[str, str]) -> Any:
    return value.local(texts) if isinstance(value, Translatable) else value


def _spaced(text: str) -> str:
    """With a space between Chinese and other words, wherever fields bring them together; code is left as it is."""
    parts = text.split("`")
    return "`".join(part if index % 2 else _JOINT.sub(" ", part) for index, part in enumerate(parts))


def language() -> str:
    """The language of the reader."""
    return _current.get()


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Speak this language meanwhile."""
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)


def use(name: str) -> None:
    """Speak this language from now on."""
    _current.set(name)


def of_locale() -> str:
    """The language that the environment asks for, as POSIX has it."""
    asked = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "zh" if asked.lower().startswith("zh") else "en"


@cache
def catalog(name: str) -> dict[str, str]:
    """The texts of all files of a language, by their English."""
    found: dict[str, str] = {}
    for file in sorted((LOCALE / name).glob("*.po")):
        found.update(entries(file.read_text("utf-8")))
    return found


def entries(text: str) -> Iterator[tuple[str, str]]:
    """What a .po file translates: `msgid` and `msgstr`, each with the quoted lines that continue it."""
    parts: dict[str, str] = {}
    word = ""
    for line in [*text.splitlines(), "msgid"]:
        word, quoted = (word, line) if line.startswith('"') else line.partition(" ")[::2]
        if line.startswith("msgid"):
            if parts.get("msgid") and parts.get("msgstr"):
                yield parts["msgid"], parts["msgstr"]
            parts = {}
        if word in ("msgid", "msgstr") and quoted:
            parts[word] = parts.get(word, "") + json.loads(quoted)

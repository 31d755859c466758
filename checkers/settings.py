"""What a run is told: the command line's options and `[onescience-check]` of setup.cfg or pyproject.toml."""

from __future__ import annotations

import configparser
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .language import tr

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROFILES = ("auto", "guide", "universal")


class SettingsError(Exception):
    """A setting that cannot be used. The text names the file, the key and what to write."""


@dataclass(frozen=True)
class Settings:
    """Defaults are those of a tree without any configuration.

    `base` is the folder that `exclude` patterns are relative to: the one that holds the settings file.
    `plugins` are files with rules of the project's own, relative to `base`.
    `jobs` of 0 leaves their number to who runs the check.
    `per_file_ignores` are rows `{"name": a .gitignore pattern, "ignore": names of rules}`.
    `providers` are extra rows of the table of parallel layers: `{"name": "pkg.mod.Class", "kind": "column", ...}`.
    """

    profile: str = "auto"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tp: tuple[int, ...] = ()
    jobs: int = 0
    providers: tuple[dict[str, str], ...] = ()
    framework: tuple[str, ...] = ("onescience.distributed.megatron", "onescience_check.runtime", "megatron")
    allow_plain_linear: tuple[str, ...] = ()
    sequence_parallel: bool = False
    fail_on: tuple[str, ...] = ("E", "W")
    baseline: str = ".onescience-check-baseline.json"
    per_file_ignores: tuple[dict[str, str], ...] = ()
    plugins: tuple[str, ...] = ()
    base: Path = field(default_factory=Path.cwd)

    def lines(self) -> list[str]:
        """Every setting as `key = value`, as it can be written in setup.cfg."""
        text = "\n".join(
            f"{_written(item.name)} = {_shown(getattr(self, item.name))}" for item in fields(self)
        )
        return [line.rstrip() for line in text.split("\n")]


def _shown(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not value or not isinstance(value[0], dict):
        return ", ".join(map(str, value))
    rows = [
        " ".join([row["name"], *(f"{key}={item}" for key, item in row.items() if key != "name")])
        if "ignore" not in row
        else f"{row['name']}: {row['ignore']}"
        for row in value
    ]
    return "".join(f"\n    {row}" for row in rows)


def load_settings(start: Path) -> Settings:
    """Settings of the nearest setup.cfg or pyproject.toml at or above `start` that has our section.

    Raises:
        SettingsError: a file on the way cannot be read, or a key or value is unknown.
    """
    folder = start if os.path.isdir(start) else start.parent
    for above in (folder, *folder.parents):
        for name, read in (("pyproject.toml", _read_toml), ("setup.cfg", _read_cfg)):
            path = above / name
            if os.path.isfile(path) and (section := read(path)) is not None:
                return replace(Settings(base=above), **dict(_convert(path, section)))
    return Settings()


def _read_toml(path: Path) -> dict[str, Any] | None:
    try:
        section = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("onescience-check")
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise SettingsError(
            tr("%(path)s: cannot be read as TOML: %(error)s", path=path, error=_one_line(error))
        ) from None
    if section is not None and not isinstance(section, dict):
        raise SettingsError(
            tr("%(path)s: tool.onescience-check must be a table: write [tool.onescience-check]", path=path)
        )
    return section


def _read_cfg(path: Path) -> dict[str, Any] | None:
    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes="#")
    try:
        parser.read_string(path.read_text("utf-8"), str(path))
    except (OSError, ValueError, configparser.Error) as error:
        raise SettingsError(
            tr("%(path)s: cannot be read: %(error)s", path=path, error=_one_line(error))
        ) from None
    return dict(parser["onescience-check"]) if parser.has_section("onescience-check") else None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _convert(path: Path, section: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for written, value in section.items():
        key = written.replace("-", "_")
        if key not in _KINDS:
            near = difflib.get_close_matches(key, _KINDS, 1)
            hint = (
                tr("did you mean %(near)s?", near=_written(near[0]))
                if near
                else tr("known: %(names)s", names=", ".join(map(_written, _KINDS)))
            )
            raise SettingsError(
                tr(
                    "%(path)s: unknown key %(written)s in onescience-check; %(hint)s",
                    path=path,
                    written=repr(written),
                    hint=hint,
                )
            )
        wanted, convert = _KINDS[key]
        try:
            yield key, convert(value)
        except SettingsError as error:
            raise SettingsError(
                tr("%(path)s: %(key)s: %(error)s", path=path, key=written, error=str(error))
            ) from None
        except (TypeError, ValueError, AttributeError, LookupError):
            raise SettingsError(
                tr(
                    "%(path)s: %(written)s = %(value)s: write %(wanted)s",
                    path=path,
                    written=written,
                    value=repr(value),
                    wanted=wanted,
                )
            ) from None


def _written(key: str) -> str:
    return key.replace("_", "-")


def words(value: Any) -> tuple[str, ...]:
    """Items of a list, or of a text split at commas and line ends."""
    if isinstance(value, str):
        return tuple(item.strip() for line in value.splitlines() for item in line.split(",") if item.strip())
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError
    return tuple(value)


def sizes(value: Any) -> tuple[int, ...]:
    """Tensor-parallel sizes: positive, sorted, without repeats."""
    found = sorted({_positive(item) for item in (value if isinstance(value, list) else words(value))})
    if not found:
        raise ValueError
    return tuple(found)


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or (number := int(value)) < 1:
        raise TypeError
    return number


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        return configparser.ConfigParser.BOOLEAN_STATES[value.lower()]
    if not isinstance(value, bool):
        raise TypeError
    return value


def _profile(value: Any) -> str:
    if value not in PROFILES:
        raise TypeError
    return str(value)


def _providers(value: Any) -> tuple[dict[str, str], ...]:
    if isinstance(value, str):
        rows = [shlex.split(line) for line in value.splitlines() if line.strip()]
        value = [{"name": row[0], **dict(pair.split("=", 1) for pair in row[1:])} for row in rows]
    if not all("." in row["name"] for row in value):
        raise ValueError
    made = tuple({key: _plain(item) for key, item in row.items()} for row in value)
    for row in made:
        for key, item in row.items():
            _known(key, tuple(_PROVIDER), tr("keys of a provider"))
            if _PROVIDER[key]:
                _known(item, _PROVIDER[key], tr("values of %(key)s", key=key))
    return made


def _plain(item: Any) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)


def _known(word: str, known: tuple[str, ...], what: str) -> None:
    if word not in known:
        near = difflib.get_close_matches(word.lower(), known, 1)
        hint = (
            tr("did you mean %(near)s?", near=near[0])
            if near
            else tr("%(what)s: %(names)s", what=what, names=", ".join(known))
        )
        raise SettingsError(tr("%(word)s is not known; %(hint)s", word=repr(word), hint=hint))


def _file_ignores(value: Any) -> tuple[dict[str, str], ...]:
    """Lines `pattern: names`, or a table of them."""
    if isinstance(value, str):
        value = {
            pattern.strip(): names
            for pattern, colon, names in (line.rpartition(":") for line in value.splitlines() if line.strip())
            if colon or _refuse()
        }
    rows = [(pattern.strip(), words(names)) for pattern, names in value.items()]
    if not all(pattern and names for pattern, names in rows):
        raise ValueError
    return tuple({"name": pattern, "ignore": ", ".join(names)} for pattern, names in rows)


def _refuse() -> bool:
    raise ValueError


def _file(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value.strip()


def _prefixes(value: Any) -> tuple[str, ...]:
    """What makes a run fail: an empty list would let everything pass."""
    found = words(value)
    if not found:
        raise ValueError
    return found


_FLAGS = ("true", "false")
_PROVIDER: dict[str, tuple[str, ...]] = {
    "name": (),
    "kind": ("column", "row", "replicated", "embedding", "plain"),
    "returns": ("pair", "tensor", "undecided"),
    "gather_output": _FLAGS,
    "input_is_parallel": _FLAGS,
}
"""What a row of `providers` may say; `tpstate.provider_table` has the meaning."""


_LIST = tr("names separated by commas, or a TOML list of strings")
_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "profile": (tr("auto, guide or universal"), _profile),
    "select": (_LIST, words),
    "ignore": (_LIST, words),
    "exclude": (tr(".gitignore patterns separated by commas, or a TOML list of them"), words),
    "tp": (tr("tensor-parallel sizes such as 1,2,4,8"), sizes),
    "jobs": (tr("a number from 1"), _positive),
    "providers": (
        tr("one class a line, as in: mylib.layers.ColumnLinear kind=column returns=tensor"),
        _providers,
    ),
    "framework": (_LIST, words),
    "allow_plain_linear": (_LIST, words),
    "sequence_parallel": (tr("true or false"), _flag),
    "baseline": (tr("the name of a file, relative to this one"), _file),
    "plugins": (
        tr("files of rules, relative to this one, separated by commas, or a TOML list of them"),
        words,
    ),
    "per_file_ignores": (
        tr("one pattern a line, as in: tests/**: E71,W7103, or a TOML table of them"),
        _file_ignores,
    ),
    "fail_on": (tr("symbols, ids or beginnings of ids, such as E,W"), _prefixes),
}

assert set(_KINDS) | {"base"} == {item.name for item in fields(Settings)}

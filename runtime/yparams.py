"""Sections of a YAML configuration file, with every key checked."""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

import yaml

from .errors import UserError

SIZE = range(1, 2**31)  # as the type of a key: a whole number above 0


class YParams(SimpleNamespace):
    """One section of a YAML file; its keys are attributes.

    Args:
        path: the file.
        section: name of a mapping at its top level.
        known: all sections that the file may have; of each, the type of every key that it must have.
            ``(int, float)`` allows both, a range the whole numbers in it; ``[int]`` is a list of any length but 0,
            ``[int, int]`` a list of two.

    Raises:
        UserError: no such file or section, an unknown section, a key that is missing, unknown or of another
            type.
    """

    def __init__(self, path: str | Path, section: str, known: Mapping[str, Mapping[str, object]]) -> None:
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot read the configuration {path}: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
        content = content if isinstance(content, dict) else {}
        _refuse_unknown(content, known, f"{path}: unknown section")
        values, keys = content.get(section), known[section]
        if not isinstance(values, dict):
            raise UserError(f"{path} has no section {section!r}")
        _refuse_unknown(values, keys, f"{path}: unknown key in section {section!r}:")
        for key, kind in keys.items():
            if key not in values:
                raise UserError(f"{path}: key {key!r} is missing in section {section!r}")
            if not _is_of(values[key], kind):
                raise UserError(f"{path}: {section}.{key} must be {_describe(kind)}, not {values[key]!r}")
        super().__init__(**values)


def _refuse_unknown(names: Iterable[object], known: Iterable[str], problem: str) -> None:
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise UserError(f"{problem} {name!r}; {hint}")


def _is_of(value: object, kind: object) -> bool:
    if isinstance(kind, list):
        fits = isinstance(value, list) and len(value) > 0 and len(kind) in (1, len(value))
        return fits and all(_is_of(item, kind[0]) for item in value)
    if isinstance(value, bool) and kind is not bool:
        return False
    if isinstance(kind, range):
        return isinstance(value, int) and value in kind
    return isinstance(value, kind)


def _describe(kind: object) -> str:
    if isinstance(kind, list):
        count = f"{len(kind)} " if len(kind) > 1 else ""
        return f"a list of {count}{_describe(kind[0])}"
    if isinstance(kind, range):
        return f"int from {kind.start} on"
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(one.__name__ for one in kinds)

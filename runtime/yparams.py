"""Sections of a YAML configuration file, with every key checked."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import yaml

from .errors import UserError


class YParams(SimpleNamespace):
    """One section of a YAML file; its keys are attributes.

    Args:
        path: the file.
        section: name of a mapping at its top level.
        keys: the type of each key that the section must have. ``(int, float)`` allows both; ``[int]`` is a
            list of any length but 0, ``[int, int]`` a list of two.

    Raises:
        UserError: no such file or section, a key that is missing, unknown or of another type.
    """

    def __init__(self, path: str | Path, section: str, keys: Mapping[str, object]) -> None:
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot read the configuration {path}: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
        values = content.get(section) if isinstance(content, dict) else None
        if not isinstance(values, dict):
            raise UserError(f"{path} has no section {section!r}")
        for key in values:
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(keys)}"
                raise UserError(f"{path}: unknown key {key!r} in section {section!r}; {hint}")
        for key, kind in keys.items():
            if key not in values:
                raise UserError(f"{path}: key {key!r} is missing in section {section!r}")
            if not _is_of(values[key], kind):
                raise UserError(f"{path}: {section}.{key} must be {_describe(kind)}, not {values[key]!r}")
        super().__init__(**values)


def _is_of(value: object, kind: object) -> bool:
    if isinstance(kind, list):
        fits = isinstance(value, list) and len(value) > 0 and len(kind) in (1, len(value))
        return fits and all(_is_of(item, kind[0]) for item in value)
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, kind)


def _describe(kind: object) -> str:
    if isinstance(kind, list):
        count = f"{len(kind)} " if len(kind) > 1 else ""
        return f"a list of {count}{_describe(kind[0])}"
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(one.__name__ for one in kinds)

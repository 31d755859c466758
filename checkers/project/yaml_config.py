"""The YAML files a script reads: where they are, what they hold, and why one cannot be used."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..files import disk
from ..language import tr

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_BYTES = 2**20
_MAKO = re.compile(r"^[ \t]*<%", re.MULTILINE)
_METHODS = frozenset({*dir(dict), *dir(list), *dir(str), "params", "update_params", "to_dict", "log"})


@dataclass(frozen=True)
class YamlFile:
    """One YAML file. `data` is its content with anchors and merge keys resolved; `problem` says why there is none."""

    path: Path
    data: Any = None
    problem: str = ""


def read_yaml(path: Path) -> YamlFile:
    """The content of a YAML file, or the reason why it cannot be used; never raises."""
    try:
        if not disk.is_file(path):
            return YamlFile(path, problem=tr("there is no such file"))
        data = disk.read(path)
        if len(data) > _MAX_BYTES:
            return YamlFile(path, problem=tr("it is larger than %(size)s MB", size=_MAX_BYTES // 2**20))
        text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig").read()
    except (OSError, UnicodeDecodeError) as error:
        return YamlFile(path, problem=tr("it cannot be read: %(error)s", error=_one_line(error)))
    if _is_template(text):
        return YamlFile(path, problem=tr("it is a template; its values are known once it is filled in"))
    try:
        return YamlFile(path, yaml.load(text, _LOADER))
    except yaml.constructor.ConstructorError as error:
        return YamlFile(
            path,
            problem=tr(
                "it has a tag that only its own program understands: %(error)s", error=_one_line(error)
            ),
        )
    except Exception as error:  # a value that its tag does not fit raises whatever its constructor runs into
        return YamlFile(path, problem=tr("it is not valid YAML: %(error)s", error=_one_line(error)))


def _is_template(text: str) -> bool:
    """Whether a `{{` or `{%` is closed somewhere behind, or a line begins with `<%`."""
    for start, end in (("{{", "}}"), ("{%", "%}")):
        opened = text.find(start)
        if opened >= 0 and text.find(end, opened + 2) >= 0:
            return True
    return bool(_MAKO.search(text))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class MissingKey(Exception):
    """A key is not there. `index` is its place in the keys that were asked for, `present` what stands beside it."""

    def __init__(self, index: int, present: Sequence[str]) -> None:
        super().__init__(index)
        self.index, self.present = index, tuple(present)


def look_up(data: Any, keys: Sequence[str]) -> Any:
    """The value at `keys`, or None where the walk ends at a value that is no mapping or at one of its methods.

    Raises:
        MissingKey: a mapping on the way lacks the key.
    """
    for index, key in enumerate(keys):
        if not isinstance(data, Mapping):
            return None
        if key in data:
            data = data[key]
        elif key in _METHODS or key.startswith("_"):
            return None
        else:
            raise MissingKey(index, [str(name) for name in data])
    return data

"""Results as JSON and back: nothing that is read from a cache can run code."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ..finding import Edit, Evidence, Finding, Fix, Place, Result, Skipped, Summary
from ..language import TRANSLATABLE, Translatable

_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Edit, Evidence, Finding, Fix, Place, Result, Skipped, Summary)
}


def packed(value: Any) -> Any:
    """The value of JSON for a result, or a part of one."""
    if isinstance(value, Translatable):
        return {"": type(value).__name__, "v": [value[:], value.template, packed(value.fields)]}
    if is_dataclass(value) and not isinstance(value, type):
        return {"": type(value).__name__, "v": [packed(getattr(value, f.name)) for f in fields(value)]}
    if isinstance(value, tuple):
        return {"": "tuple", "v": list(map(packed, value))}
    if isinstance(value, list):
        return list(map(packed, value))
    if isinstance(value, dict):
        return {"": "dict", "v": [[key, packed(item)] for key, item in value.items()]}
    return value


def unpacked(value: Any) -> Any:
    """What was packed.

    Raises:
        KeyError, TypeError, ValueError: it is nothing that `packed` makes.
    """
    if isinstance(value, list):
        return list(map(unpacked, value))
    if not isinstance(value, dict):
        return value
    kind, items = value[""], value["v"]
    if kind == "tuple":
        return tuple(map(unpacked, items))
    if kind == "dict":
        return {key: unpacked(item) for key, item in items}
    made = TRANSLATABLE.get(kind) or _KINDS[kind]
    return made(*map(unpacked, items))

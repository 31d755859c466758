"""Values of YAML files: what the user sets, what is made small, and what was read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

# Rates that no configuration has: one passed for another shows.
_DROPS = {"drop": 0.13, "attn_drop": 0.17, "drop_path": 0.23}
_MAX_BLOCKS = 12


class ConfigFiles:
    """Every mapping that PyYAML or ruamel.yaml reads in this process, with the values of `overrides` put in."""

    def __init__(self, overrides: Mapping[str, object]) -> None:
        self.overrides = dict(overrides)
        self.read: list[Mapping] = []
        self.used: set[str] = set()

    def install(self) -> None:
        """From here on."""
        import yaml

        for name in ("load", "safe_load", "full_load", "unsafe_load"):
            setattr(yaml, name, self._changing(getattr(yaml, name)))
        try:
            from ruamel.yaml import YAML
        except ImportError:
            return
        YAML.load = self._changing(YAML.load)

    def _changing(self, load):
        def read(*args, **kwargs):
            data = load(*args, **kwargs)
            if isinstance(data, Mapping):
                self.change(data)
                if data not in self.read:
                    self.read.append(data)
            return data

        return read

    def change(self, data) -> None:
        """Put the values in where their keys lead."""
        for dotted, value in self.overrides.items():
            *way, last = dotted.split(".")
            place = data
            for key in way:
                place = place.get(key) if isinstance(place, Mapping) else None
            if isinstance(place, Mapping) and (last in place or len(way) > 0):
                place[last] = value
                self.used.add(dotted)

    def values(self, key: str) -> list[object]:
        """The different values that a key has anywhere in what was read."""
        found: list[object] = []
        for data in self.read:
            for dotted, value in leaves(data):
                if dotted.rpartition(".")[2] == key and value not in found:
                    found.append(value)
        return found


def leaves(data: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Dotted key and value of everything that is no mapping."""
    for key, value in data.items():
        dotted = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{dotted}.")
        else:
            yield dotted, value


def small(files: list[Mapping], padded: bool, tp: int = 2, own_windows: bool = False) -> dict[str, object]:
    """Sizes that a CPU computes in a second, and that still have two windows along each axis of the coarser grid.

    Args:
        files: what the configuration holds.
        padded: choose a grid that patches and windows do not fill, and another number of heads for each layer.
        tp: tensor-parallel ranks, which heads must divide into.
        own_windows: keep the windows, for a model that writes their sizes elsewhere too.
    """
    values = {dotted: value for data in files for dotted, value in leaves(data)}
    last = {dotted.rpartition(".")[2]: value for dotted, value in values.items()}
    patch = _whole(last.get("patch_size"), 2) or [1, 1]
    window = _whole(last.get("window_size"), 2)
    heads = _numbers(last.get("num_heads")) or [4]
    if padded and len(set(heads)) < len(heads):
        heads = [max(2, tp) * 2**layer for layer in range(len(heads))]
    found: dict[str, object] = {}
    new_window = None
    if window:
        new_window = window[-2:] if own_windows else [min(window[-2], 4), min(window[-1], 6)]
    for dotted, value in values.items():
        key = dotted.rpartition(".")[2]
        if key == "window_size" and new_window and isinstance(value, list):
            found[dotted] = [*value[:-2], *new_window]
        elif key in ("img_size", "image_size") and isinstance(value, list) and len(value) == 2:
            rows, columns = (2 * 2 * side for side in new_window or (4, 8))
            rows -= padded
            found[dotted] = [patch[-2] * rows - (patch[-2] - 1 if padded else 0), patch[-1] * columns]
        elif key in ("embed_dim", "hidden_dim", "dim") and isinstance(value, int):
            found[dotted] = (
                min(value, 4 * math.lcm(*heads)) if value % math.lcm(*heads) == 0 else 2 * math.lcm(*heads)
            )
        elif key == "num_heads" and isinstance(value, list) and len(value) == len(heads) > 1:
            found[dotted] = heads
        elif key == "depths" and _numbers(value) and sum(_numbers(value)) > _MAX_BLOCKS:
            found[dotted] = [max(2, math.ceil(2 * depth / 3)) for depth in _numbers(value)]
        elif key in _DROPS and value in (0, 0.0) and not isinstance(value, bool):
            found[dotted] = _DROPS[key]
    return found


def _numbers(value: object) -> list[int]:
    if isinstance(value, list | tuple) and value and all(type(item) is int for item in value):
        return list(value)
    return [value] if type(value) is int else []


def _whole(value: object, least: int) -> list[int]:
    numbers = _numbers(value)
    return numbers * least if len(numbers) == 1 else numbers


def parse_setting(text: str) -> tuple[str, object]:
    """``model.embed_dim=16`` as key and value.

    Raises:
        ValueError: it is not of this form.
    """
    import yaml

    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", key.strip()):
        raise ValueError(f"{text!r}: write KEY=VALUE, the key with dots: model.embed_dim=16")
    return key.strip(), yaml.safe_load(value)

"""The folder that keeps answers: one compressed JSON file each, written whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "ONESCIENCE_CHECK_CACHE"
"""The environment variable that names another folder; empty for none at all."""

LIMIT = 64 * 2**20
"""Bytes that all answers may take together; the ones longest unused go first."""

_ABANDONED = 3600  # seconds after which a file that was never finished belongs to a run that is gone
_SUFFIX = ".answer"
_NOTES = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Made by onescience-check; may be removed.\n",
}


def folder() -> Path | None:
    """Where answers are kept; None where the environment wants none, or names no place."""
    asked = os.environ.get(VARIABLE)
    if asked is not None:
        return Path(asked).absolute() if asked else None
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local")
    elif sys.platform == "darwin":
        base = home / "Library/Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "onescience-check" if base.is_absolute() else None


def load(key: str) -> Any:
    """What is kept under a key; None where there is nothing that can be used."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{_SUFFIX}"
    try:
        found = json.loads(zlib.decompress(path.read_bytes()))
    except (OSError, ValueError, zlib.error, RecursionError):
        return None
    with suppress(OSError):
        os.utime(path)  # it was of use
    return found


def save(key: str, value: Any) -> None:
    """Keep a value under a key. A folder that cannot be written keeps nothing, and that is no fault."""
    place = folder()
    if place is None:
        return
    data = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)
    with suppress(OSError):
        os.makedirs(place, mode=0o700, exist_ok=True)
        for name, text in _NOTES.items():
            if not (place / name).exists():
                _write(place / name, text.encode())
        _write(place / f"{key}{_SUFFIX}", data)
        _make_room(place)


def rename(key: str, other: str) -> None:
    """Keep under another key what is kept under this one, in place of what was there."""
    place = folder()
    if place is not None:
        with suppress(OSError):
            os.replace(place / f"{key}{_SUFFIX}", place / f"{other}{_SUFFIX}")


def _write(path: Path, data: bytes) -> None:
    """Others see the file before or after, never half of it."""
    handle, name = tempfile.mkstemp(prefix="unfinished-", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _make_room(place: Path) -> None:
    kept = []
    now = time.time()
    with os.scandir(place) as found:
        for entry in found:
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    kept.append((about.st_mtime, about.st_size, entry.path))
                elif entry.name.startswith("unfinished-") and now - about.st_mtime > _ABANDONED:
                    os.unlink(entry.path)
    total = 0
    for _, size, path in sorted(kept, reverse=True):
        total += size
        if total > LIMIT:
            with suppress(OSError):
                os.unlink(path)


def clear() -> int:
    """Remove all answers; how many there were. Nothing else in the folder is touched.

    Raises:
        OSError: one cannot be removed.
    """
    place = folder()
    count = 0
    if place is not None and place.is_dir():
        for path in place.iterdir():
            if path.suffix == _SUFFIX or path.name.startswith("unfinished-"):
                path.unlink(missing_ok=True)
                count += path.suffix == _SUFFIX
    return count

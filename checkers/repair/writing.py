"""Writing repaired files: each one whole or not at all, and only over the very bytes that were judged."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..files.source import Unusable, read_bytes
from ..language import tr


def why_not_written(path: Path) -> str:
    """Why a file is left alone whatever is to be changed in it; empty where it may be written."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return tr("cannot be reached: %(why)s", why=(error.strerror or str(error)).lower())
    if stat.S_ISLNK(found.st_mode):
        return tr("is a link: name the file it leads to, %(path)s", path=os.path.realpath(path))
    if not found.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        return tr("is read-only")
    return ""


def write_all(before: Mapping[Path, bytes], after: Mapping[Path, bytes]) -> dict[Path, str]:
    """Write every file, or none; for those that stand in the way, the reason is given.

    New bytes are put beside each file first. So whoever reads a file meets the old or the new one, never a part, and a
    full disk spoils nothing.
    """
    ready: dict[Path, Path] = {}
    written: list[Path] = []
    try:
        for path, data in after.items():
            if reason := _changed(path, before[path]):
                return {path: reason}
            try:
                ready[path] = _beside(path, data)
            except OSError as error:
                return {path: _why(error)}
        if changed := {path: reason for path in after if (reason := _changed(path, before[path]))}:
            return changed
        for path, new in ready.items():
            try:
                os.replace(new, path)
            except OSError as error:
                for other in written:
                    os.replace(_beside(other, before[other]), other)
                return {path: _why(error)}
            written.append(path)
        return {}
    finally:
        for path, new in ready.items():
            if path not in written:
                with suppress(OSError):
                    os.unlink(new)


def _changed(path: Path, before: bytes) -> str:
    try:
        return "" if read_bytes(path) == before else tr("changed meanwhile")
    except Unusable as error:
        return tr("is %(reason)s", reason=error.args[0])


def _beside(path: Path, data: bytes) -> Path:
    """A file with new bytes beside another, with the rights of that one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copystat(path, name)
        os.utime(name)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _why(error: OSError) -> str:
    return tr("cannot be written: %(why)s", why=(error.strerror or str(error)).lower())

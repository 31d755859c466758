"""What a run reads of the file system: all of it goes through here, and can be noted down."""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from .notes import NO_STAMP as NO_STAMP
from .notes import Before as Before
from .notes import Reads as Reads
from .notes import Seen as Seen
from .notes import Stamp as Stamp

MAX_BYTES = 8 * 2**20
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)

LOOP = "l?"
"""The kind of a link that leads to itself."""

_watching: ContextVar[Reads | None] = ContextVar("watching", default=None)


@contextmanager
def watched(before: Before | None = None) -> Iterator[Reads]:
    """Note what is read meanwhile; `before` are the notes of an earlier run, else those that whoever watches has."""
    outer = _watching.get()
    reads = Reads(before=before or (None if outer is None else outer.before))
    token = _watching.set(reads)
    try:
        yield reads
    finally:
        _watching.reset(token)
        reads.before = None


def watching() -> Reads | None:
    """What was read so far, where somebody wants to know."""
    return _watching.get()


def pass_on(reads: Reads) -> None:
    """Count what another process has seen as seen here."""
    if (own := _watching.get()) is not None:
        own.add(reads)


def read(path: str | Path) -> bytes:
    """The bytes of a regular file; opening a pipe does not wait for somebody to write into it.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than `MAX_BYTES`.
    """
    reads = _watching.get()
    try:
        stamp, data = _read(path)
    except OSError as error:
        if reads is not None:
            reads.saw(str(path), NO_STAMP, f"errno {error.errno}")
        raise
    if reads is not None:
        reads.saw(str(path), stamp, digest(data))
    return data


def _read(path: str | Path) -> tuple[Stamp, bytes]:
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAITING)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file")
        if found.st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"Larger than {MAX_BYTES // 2**20} MB")
        return stamp_of(found), file.read()


def stamp_of(found: os.stat_result) -> Stamp:
    """What tells a changed file from an unchanged one without reading it."""
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def stamp_now(path: str | Path) -> Stamp:
    """The same of a path, `NO_STAMP` where nothing can be told; not noted."""
    try:
        return stamp_of(os.stat(path))
    except (OSError, ValueError):
        return NO_STAMP


def digest(data: bytes) -> str:
    """A name for content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content(path: str | Path) -> str:
    """The name of a file's content, or of the reason why it has none; not noted."""
    try:
        return digest(_read(path)[1])
    except OSError as error:
        return f"errno {error.errno}"


def thrown_out(path: str | Path) -> None:
    """The bytes just read matter no further than that the sieve did not hold them back."""
    if (reads := _watching.get()) is not None and (seen := reads.files.get(str(path))) is not None:
        seen.is_whole = seen.was_whole


def entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """What a folder holds, by name.

    Raises:
        OSError: it cannot be read.
    """
    reads = _watching.get()
    try:
        with os.scandir(folder) as found:
            listed = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        if reads is not None:
            reads.note("folders", str(folder), f"errno {error.errno}")
        raise
    if reads is not None:
        reads.note("folders", str(folder), _listing(listed))
    return listed


def listing(folder: str, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """The name of what a folder holds, or of the reason why it cannot be read; not noted.

    `others` are names that stand for something else than what is there: a letter as in a kind, empty for nothing.
    """
    try:
        with os.scandir(folder) as found:
            return _listing(found, others)
    except OSError as error:
        return f"errno {error.errno}"


def _listing(listed: Iterable[os.DirEntry[str]], others: Mapping[str, str] = MappingProxyType({})) -> str:
    """Left out is what other programs make as they run, and no rule or import can ask for: caches, swap files."""
    letters = {entry.name: _letter(entry) for entry in listed if entry.name not in others} | dict(others)
    parts = [
        f"{name}\0{letter}"
        for name, letter in sorted(letters.items())
        if letter and (name in (".git", ".gitignore") or not (name.startswith(".") or name == "__pycache__"))
    ]
    return digest("\n".join(parts).encode(errors="surrogateescape"))


def _letter(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "l"
    is_dir = entry.is_dir(follow_symlinks=False)
    return "d" if is_dir else "f" if entry.is_file(follow_symlinks=False) else "o"


def kind(path: str | Path) -> str:
    """What a path is: `d`, `f`, `o` for others, `LOOP`, or nothing; with an `l` before it where it is a link."""
    found = kind_now(path)
    if (reads := _watching.get()) is not None:
        reads.note("kinds", str(path), found)
    return found


def kind_now(path: str | Path) -> str:
    """The kind; not noted."""
    link = "l" if os.path.islink(path) else ""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        return LOOP if link and getattr(error, "errno", 0) == errno.ELOOP else link
    return link + ("d" if stat.S_ISDIR(mode) else "f" if stat.S_ISREG(mode) else "o")


def is_file(path: str | Path) -> bool:
    """Whether a regular file is there, or a link to one."""
    return kind(path).endswith("f")


def is_folder(path: str | Path) -> bool:
    """Whether a folder is there, or a link to one."""
    return kind(path).endswith("d")


def exists(path: str | Path) -> bool:
    """Whether anything is there; a link that leads nowhere is not."""
    return kind(path)[-1:] in ("d", "f", "o")


def is_link(path: str | Path) -> bool:
    """Whether a link is there, wherever it leads."""
    return kind(path).startswith("l")


def real(path: str | Path) -> str:
    """The path without links."""
    found = os.path.realpath(path)
    if (reads := _watching.get()) is not None:
        reads.note("links", str(path), found)
    return found


def matching(folder: Path, pattern: str) -> list[Path]:
    """What a shell would put for a pattern of names, by name; nothing in a folder that is not there."""
    first, _, rest = pattern.partition("/")
    try:
        names = [entry.name for entry in entries(folder)]
    except OSError:
        return []
    found = [folder / name for name in names if fnmatch.fnmatchcase(name, first)]
    return found if not rest else [path for inner in found for path in matching(inner, rest)]

"""`onescience-check fix`: make the edits that findings carry, or show them."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from ..finding import Finding
from ..language import counted, local, tr
from ..settings import Settings, words
from .exits import CLEAN, FAILED, FOUND
from .lang import Lang
from .project import settings_of
from .streams import progress, say, visible, working_folder

if TYPE_CHECKING:
    from ..repair.session import Repair


def fix(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; the current folder if none.")
    ] = None,
    *,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Also make the edits that a reader must look at.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the changes as a patch, and write nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 where something would be changed.")
    ] = False,
    select: Annotated[
        str, typer.Option(metavar="NAMES", help="Only these: symbols, ids or beginnings of ids: E71,W7103.")
    ] = "",
    lang: Lang = None,
) -> None:
    """Make the edits that findings carry: those that are safe, or all with --unsafe.

    An edit is kept when the files are checked again with it, its finding is gone and no other has come. Comments and
    the rest of each file stay as they are. Exit code: 0 done, 1 with --check where something is to do, 2 a file could
    not be checked or written.
    """
    working_folder()
    given = paths or [Path()]
    settings = settings_of(given[0].absolute())
    raise typer.Exit(_fix(given, settings, words(select), unsafe=unsafe, diff=diff, check=check))


def _fix(
    paths: Sequence[Path],
    settings: Settings,
    select: tuple[str, ...],
    *,
    unsafe: bool,
    diff: bool,
    check: bool,
) -> int:
    from ..files.discovery import display
    from ..repair.session import repair
    from ..selection import selected_rules

    selected_rules(settings)  # an unknown name is refused before any file is read
    chosen = {rule.symbol for rule in selected_rules(replace(settings, select=select or settings.select))}
    kinds = {"safe", "unsafe"} if unsafe else {"safe"}

    def is_wanted(finding: Finding) -> bool:
        return finding.symbol in chosen and finding.fix is not None and finding.fix.applicability in kinds

    with progress() as step:
        done = repair(paths, settings, is_wanted, write=not (diff or check), progress=step)
    if diff:
        for path, data in sorted(done.after.items()):
            _print_patch(display(path), done.before[path], data)
        sys.stdout.flush()
    for line in _outcome(done, chosen, unsafe=unsafe, made=not (diff or check)):
        print(visible(line), file=sys.stderr if diff else sys.stdout)
    for skip in done.unusable:
        say(f"{skip.path}: {local(skip.reason)}")
    if done.unusable or any(refused.barred for refused in done.refused):
        return FAILED
    return FOUND if check and done.after else CLEAN


def _outcome(done: Repair, chosen: set[str], *, unsafe: bool, made: bool) -> Iterator[str]:
    """What was done in each file, what was not and why, and what is left to do."""
    for path, group in groupby(sorted(done.fixed, key=lambda f: f.sort_key), key=lambda f: f.place.path):
        counts = Counter(finding.symbol for finding in group)
        parts = [symbol if count == 1 else f"{symbol} ({count})" for symbol, count in sorted(counts.items())]
        yield f"{path}: {', '.join(parts)}"
    for refused in done.refused:
        said = tr("%(rule)s is left as it is: %(why)s", rule=refused.finding.symbol, why=refused.reason)
        yield f"{refused.finding.place.path}:{refused.finding.place.line}: {local(said)}"
    left = [finding for finding in done.remaining if finding.symbol in chosen]
    tried = {refused.finding for refused in done.refused}
    readers = [f for f in left if f.fix is not None and f.fix.applicability == "unsafe" and f not in tried]
    fixed, files = counted(len(done.fixed), "finding"), counted(len(done.after), "file")
    if made:
        yield local(tr("Fixed %(findings)s in %(files)s.", findings=fixed, files=files))
    else:
        yield local(tr("Would fix %(findings)s in %(files)s.", findings=fixed, files=files))
    if left and readers and not unsafe:
        said = "%(findings)s left, %(readers)s of them with an edit that needs a reader (--unsafe; --diff shows it)."
        yield local(tr(said, findings=counted(len(left), "finding"), readers=len(readers)))
    elif left:
        yield local(tr("%(findings)s left.", findings=counted(len(left), "finding")))


def _print_patch(shown: str, before: bytes, after: bytes) -> None:
    """A patch of the very bytes; a terminal gets what it can show, in colours."""
    name = shown.encode("utf-8", "surrogateescape")
    old, new = (name, name) if shown.startswith("/") else (b"a/" + name, b"b/" + name)
    patch = list(difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), old, new))
    ended = [line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in patch]
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(b"".join(ended))
        return
    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
    for line in ended:
        text = visible(line.decode(errors="replace").rstrip("\r\n").replace("\t", "    "))
        style = "bold" if line.startswith((b"---", b"+++")) else _COLOURS.get(text[:1], "")
        console.print(Text(text, style=style))


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])

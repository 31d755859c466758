"""Where the edited line comes among the causes that a log gets."""

from __future__ import annotations

import os
from pathlib import Path

from onescience_check.checkers.diagnose.candidate import Cause
from onescience_check.checkers.diagnose.diagnosis import Diagnosis, diagnose
from onescience_check.checkers.diagnose.sources import Sources
from onescience_check.checkers.diagnose.stream import read_logs
from onescience_check.checkers.settings import load_settings

from .sets import Fault


def place(fault: Fault, tree: Path, log: Path) -> tuple[int | None, Diagnosis]:
    """The number of the first cause, from 0, that is the mistake; None where none is."""
    changed = fault.changed(tree)
    log = log.resolve()
    os.chdir(tree)
    paths = [Path(path) for path in fault.paths]
    made = diagnose(read_logs([log]), paths, load_settings(tree))
    sources = Sources(paths)
    hits = [number for number, cause in enumerate(made.causes) if _is_it(cause, changed, sources)]
    return (hits[0] if hits else None), made


def _is_it(cause: Cause, changed: list[tuple[str, int, int, bool]], sources: Sources) -> bool:
    """Whether the statement of a cause, or the fix it types, holds a changed line; where lines were only taken out,
    whether it touches the gap or is the function or class around it."""
    path, source = os.path.abspath(cause.path), sources.text(cause.path)
    start, end = cause.line, max(cause.line, cause.end)
    if source is not None and cause.path.endswith(".py"):
        start, last = source.statement(cause.line)
        end = max(last, cause.end)
    lines = {(path, line) for line in range(start, end + 1)}
    for finding in cause.findings:
        for edit in finding.fix.edits if finding.fix else ():
            where = edit.place
            lines |= {(os.path.abspath(where.path), line) for line in range(where.line, where.end_line + 1)}
    for file, first, last, gone in changed:
        file = os.path.abspath(file)
        if any((file, line) in lines for line in range(first - gone, last + 1)):
            return True
        if gone and path == file and source is not None:
            around = [*source.enclosing(first), *source.enclosing(first - 1)]
            if any(node.lineno == cause.line for node in around):
                return True
    return False

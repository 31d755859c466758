"""`onescience-check baseline`: accept what is found today."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..language import counted, local, tr
from ..settings import Settings
from .exits import CLEAN, FAILED
from .lang import Lang
from .project import settings_of
from .streams import progress, say, visible, working_folder


def baseline(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; the current folder if none.")
    ] = None,
    *,
    update: Annotated[
        bool, typer.Option("--update", help="Accept nothing new; only remove what is no longer found.")
    ] = False,
    lang: Lang = None,
) -> None:
    """Accept the findings of today: from now on `check` shows new ones only.

    They are written to the file that the setting `baseline` names, beside the settings. An entry is known again by its
    file, rule, function and line of code, so it survives code that moves, and files that git knows to be renamed.
    """
    working_folder()
    given = paths or [Path()]
    raise typer.Exit(_accept(given, settings_of(given[0].absolute()), update))


def _accept(paths: Sequence[Path], settings: Settings, update: bool) -> int:
    from ..cache.answer import answer
    from ..files.discovery import display
    from ..history.baseline import Baseline, covered, shown, write_baseline
    from ..selection import selected_rules

    symbols = {rule.symbol for rule in selected_rules(settings)}
    accepted = Baseline.of(settings)
    with progress() as step:
        answered = answer(paths, settings, step)
    files, found = answered.files, answered.result.findings
    new, known, left = accepted.split(found, files)
    is_covered = covered(accepted, paths, files, symbols)
    stale = {entry: count for entry, count in left.items() if is_covered(entry)}
    write_baseline(accepted, known if update else found, files, is_covered)
    for entry in sorted(stale):
        print(visible(local(tr("no longer found: %(entry)s", entry=shown(entry, accepted)))))
    for skip in files.unusable:
        say(f"{skip.path}: {local(skip.reason)}")
    where, gone = display(accepted.path), sum(stale.values())
    total = counted(sum(accepted.entries.values()), "finding")
    if update:
        said = tr(
            "%(where)s: %(total)s accepted; %(gone)s no longer found.", where=where, total=total, gone=gone
        )
    else:
        counts = "%(where)s: %(total)s accepted, %(new)s of them new; %(gone)s no longer found."
        said = tr(counts, where=where, total=total, new=len(new), gone=gone)
    print(visible(local(said)))
    return FAILED if files.unusable else CLEAN

"""`onescience-check cache`: where answers of earlier runs are kept, and removing them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from ..language import local, tr
from ..settings import SettingsError
from .exits import CLEAN
from .lang import Lang
from .streams import visible


class Act(str, Enum):
    """What can be done with the answers that are kept."""

    clear = "clear"
    dir = "dir"


def cache(
    act: Annotated[
        Act, typer.Argument(help="clear: remove all answers; dir: print the folder that keeps them.")
    ],
    *,
    lang: Lang = None,
) -> None:
    """Remove the answers of earlier runs, or say where they are.

    A run over files that have not changed is answered from an earlier one. The folder is the one that the environment
    variable ONESCIENCE_CHECK_CACHE names, or else the user's own for caches; an empty variable keeps nothing.
    """
    from ..cache.store import clear, folder

    place = folder()
    if act is Act.dir:
        print(visible(str(place)) if place is not None else local(tr("nothing is kept")))
        raise typer.Exit(CLEAN)
    try:
        count = clear()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SettingsError(tr("%(path)s: cannot be removed: %(why)s", path=place, why=why)) from None
    print(visible(local(tr("%(count)s answers removed", count=count))))
    raise typer.Exit(CLEAN)

"""`from onescience_check import check`: a run from a Python program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..finding import Result
from ..settings import PROFILES, SettingsError, sizes
from .past import Past
from .project import settings_of

Name = str | os.PathLike[str]


def check(
    *paths: Name,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    tp: Iterable[int] = (),
    profile: str = "",
    jobs: int = 1,
    edited: Mapping[Name, str | bytes] | None = None,
    changed_since: str = "",
    is_cached: bool = True,
    use_baseline: bool = True,
) -> Result:
    """Check files and folders, the current folder if none are named, as the command does.

    The settings are those of the nearest `setup.cfg` or `pyproject.toml` above the first path; what is given here wins.
    Nothing is printed. Lines count from 1 and columns from 0; texts are English.

    Args:
        paths: files and folders.
        select: rules to apply, by symbol, id or the beginning of an id; all if empty.
        ignore: rules not to apply.
        tp: tensor-parallel sizes that must work.
        profile: auto, guide or universal.
        jobs: processes to use.
        edited: texts of files that are not, or not yet, those on disk.
        changed_since: a git revision: only what changed since, and what that causes elsewhere.
        is_cached: whether the answer of an earlier run over the same files may be used.
        use_baseline: whether findings that the baseline accepts are left out.

    Raises:
        SettingsError: the settings, a name or the revision cannot be used.
        FileNotFoundError: a path is not there.
    """
    given = [Path(path) for path in paths] or [Path()]
    texts = {
        Path(os.path.abspath(path)): text.encode() if isinstance(text, str) else text
        for path, text in (edited or {}).items()
    }
    for path in given:
        if not os.path.exists(path) and Path(os.path.abspath(path)) not in texts:
            raise FileNotFoundError(str(path))
    if profile and profile not in PROFILES:
        raise SettingsError(f"profile: write one of {', '.join(PROFILES)}")
    asked_sizes = list(tp)
    told: dict[str, Any] = {
        "select": tuple(select),
        "ignore": tuple(ignore),
        "tp": sizes(asked_sizes) if asked_sizes else (),
        "profile": profile,
        "jobs": max(jobs, 1),
    }
    settings = settings_of(given[0].absolute())
    settings = replace(settings, **{key: value for key, value in told.items() if value})
    from ..cache.answer import answer

    past = Past(given, settings, changed_since, use_baseline=use_baseline, strict=False)
    found = answer(() if past.is_idle else given, settings, edited=texts, is_cached=is_cached)
    return past.without_old(found.result, found.files)

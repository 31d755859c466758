"""How every command begins: the settings of the project, and the rules that they name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..rules import use_rules
from ..settings import Settings, load_settings


def settings_of(path: Path, *, with_plugins: bool = True) -> Settings:
    """The settings around a path; the project's own rules are applied from now on, and those of no other.

    Raises:
        SettingsError: the settings, or a file that they name, cannot be used.
    """
    settings = load_settings(path)
    if not with_plugins:
        settings = replace(settings, plugins=())
    if settings.plugins:
        from ..plugins.loading import use_plugins  # few projects have rules of their own

        use_plugins(settings)
    else:
        use_rules(())
    return settings


def cores() -> int:
    """How many processes a run uses that was not told how many.

    More than a few gain nothing: each works out anew what the rules share.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, 4)

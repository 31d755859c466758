"""Pylint plugins and the onescience-check command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylint.lint import PyLinter


def register(linter: PyLinter) -> None:
    """Entry point of `pylint --load-plugins=onescience_check.checkers`."""
    from .frontends.pylint_plugin import register as register_checkers

    register_checkers(linter)

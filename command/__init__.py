"""Find tensor- and pipeline-parallel mistakes in PyTorch code: the interface for programs.

from onescience_check import check

for finding in check("src").findings:
    print(finding.place.path, finding.place.line, finding.symbol, finding.message)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkers.finding import Edit, Evidence, Finding, Fix, Place, Result, Skipped, Summary
    from .checkers.frontends.python import check
    from .checkers.settings import Settings, SettingsError

__all__ = [
    "Edit",
    "Evidence",
    "Finding",
    "Fix",
    "Place",
    "Result",
    "Settings",
    "SettingsError",
    "Skipped",
    "Summary",
    "check",
]


def __getattr__(name: str) -> Any:
    """The names are imported when they are asked for: the command and Pylint need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .checkers import finding, settings
    from .checkers.frontends import python

    return next(getattr(module, name) for module in (python, finding, settings) if hasattr(module, name))

"""What a project's own rule imports; `docs/own-rules.md` shows how one is written."""

from onescience_check.checkers.plugins.interface import *  # noqa: F403
from onescience_check.checkers.plugins.interface import __all__ as __all__

"""Exit codes of the command."""

CLEAN, FOUND, FAILED = 0, 1, 2

"""Whether a project follows the OneScience guide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project import Project

_GUIDE = (
    re.compile(r"(?m)^\s*(from|import)\s+onescience(_check\.(runtime|reference_models))?\b"),
    re.compile(r"(?m)^class\s+\w+_stage\d+\b"),
    re.compile(
        r"(?m)^class\s+One[A-Z]\w*\([^)]*\):(?:(?!^class\s)[\s\S]){0,3000}?def __init__\(\s*self,\s*style\b"
    ),
)
"""What only code written by the guide has: the onescience package, `X_stage0` classes, `One*` wrappers."""


def has_guide_code(project: Project) -> bool:
    """Whether a checked file uses the package, the stage names or the wrappers of the guide."""
    asked = [module for module in project.modules if module.path in project.files.targets]
    return any(module.says(mark) for mark in _GUIDE for module in asked)

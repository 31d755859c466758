"""Whether a project follows the OneScience guide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .project import Project

_GUIDE = re.compile(
    r"^\s*(from|import)\s+onescience(_check\.(runtime|reference_models))?\b"
    r"|^class\s+\w+_stage\d+\b"
    r"|^class\s+One[A-Z]\w*\([^)]*\):(?:(?!^class\s)[\s\S]){0,3000}?def __init__\(\s*self,\s*style\b",
    re.MULTILINE,
)
"""What only code written by the guide has: the onescience package, `X_stage0` classes, `One*` wrappers."""


def has_guide_code(project: Project) -> bool:
    """Whether a checked file uses the package, the stage names or the wrappers of the guide."""
    return any(module.says(_GUIDE) for module in project.modules if module.path in project.files.targets)

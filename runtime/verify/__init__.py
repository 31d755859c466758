"""Run a distributed model in small and dry, and hold it against its original.

This part of the project runs the code that it is given; nothing else here does.

    from onescience_check.runtime.verify import numbers, shapes

    result = shapes("examples/earth/pangu/train.py", tp=2, pp=4)
    assert result.ok, result.findings
"""

from ..errors import UserError
from .api import numbers, shapes, verify
from .overrides import parse_setting
from .plan import Plan
from .results import Finding, Result, StageFigures

__all__ = [
    "Finding",
    "Plan",
    "Result",
    "StageFigures",
    "UserError",
    "numbers",
    "parse_setting",
    "shapes",
    "verify",
]

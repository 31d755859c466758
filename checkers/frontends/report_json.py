"""The report as JSON, version 1: the dataclasses of `report.model` as they are."""

from __future__ import annotations

import json
from dataclasses import asdict

from ..language import localized
from ..report.model import Report
from .json_report import tool_name


def render(report: Report) -> None:
    """Print the report on standard output."""
    print(json.dumps({"version": 1, "tool": tool_name(), **localized(asdict(report))}, indent=2))

"""A small distributed model in OneScience's layout, right in every line, for tests to break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.report.build import make_report
from onescience_check.checkers.report.model import Line, Mark, ModelReport, Report
from onescience_check.checkers.settings import Settings

from .small_model import FILES

Edit = Callable[[str, str, str], None]


class Tree:
    """The model on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that is there."""
        text = (self.root / name).read_text("utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def report(self, *paths: str) -> Report:
        return make_report([self.root / path for path in paths or ("",)], Settings(base=self.root))

    def model(self) -> ModelReport:
        """The report of the only model."""
        (model,) = self.report().models
        return model


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.chdir(tmp_path)
    return Tree(tmp_path)


def line(model: ModelReport, start: str) -> Line:
    """The line of a checklist that begins so."""
    (found,) = [
        line for checklist in model.checklists for line in checklist.lines if line.text.startswith(start)
    ]
    return found


def marks(model: ModelReport, mark: Mark) -> list[str]:
    """The lines with a mark."""
    return [line.text for checklist in model.checklists for line in checklist.lines if line.mark is mark]

"""The `object` of a finding is the class that holds the reported line, not the helper that raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings

HELPER = """
def build(style, registry, **kwargs):
    return registry[style](**kwargs)
"""

WRAPPER = """
from torch import nn

from tower.lazy import build


class Plain(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)


_FUSER_REGISTRY = {"Plain": Plain}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = build(style, _FUSER_REGISTRY, **kwargs)
"""

MODEL = """
from torch import nn

from tower.fuser import OneFuser


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()

        def block():
            return OneFuser(style="Plain", dim=dim, depth=2)

        self.first = block()
        self.second = OneFuser(style="Plane", dim=dim)
"""


@pytest.mark.parametrize("symbol", ["style-arguments-rejected", "unknown-module-style"])
def test_the_object_is_the_class_around_the_call(tmp_path: Path, symbol: str) -> None:
    package = tmp_path / "tower"
    package.mkdir()
    for name, text in {"__init__": "", "lazy": HELPER, "fuser": WRAPPER, "model": MODEL}.items():
        (package / f"{name}.py").write_text(text)
    result = run([tmp_path], Settings(profile="guide", base=tmp_path))
    found = [finding for finding in result.findings if finding.symbol == symbol]
    assert [(Path(finding.place.path).name, finding.object) for finding in found] == [("model.py", "Model")]

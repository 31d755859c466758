"""The tutorial's folders are what its pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import load_settings
from onescience_check.runtime.verify import shapes

TUTORIAL = Path(__file__).parent.parent / "docs/tutorial"
STEPS = ("0_plain", "1_stages", "2_layers", "3_split", "4_done")
PAGES = ("README.md", "README.zh-CN.md")
SCRIPT = "examples/earth/swirl_distributed_4stage/train.py"
_ROW = re.compile(r"^\| `(\w+\.py):(\d+)` \| ([A-Z]\d+) ", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("step", STEPS)
def test_each_step_has_the_findings_that_the_pages_show(page: str, step: str) -> None:
    text = (TUTORIAL / page).read_text("utf-8")
    part = re.split(r"^## \d", text, flags=re.MULTILINE)[int(step[0]) + 1]
    shown = sorted((name, int(line), code) for name, line, code in _ROW.findall(part))
    assert shown == findings(step)


_found: dict[str, list[tuple[str, int, str]]] = {}


def findings(step: str) -> list[tuple[str, int, str]]:
    if step not in _found:
        result = run([TUTORIAL / step], load_settings(TUTORIAL / step))
        assert not result.skipped
        _found[step] = sorted((Path(f.place.path).name, f.place.line, f.code) for f in result.findings)
    return _found[step]


def test_the_last_step_verifies() -> None:
    result = shapes(TUTORIAL / STEPS[-1] / SCRIPT, tp=2, pp=4)
    assert result.findings == []
    assert [row.stage for row in result.figures] == [0, 1, 2, 3]


def test_no_step_changes_the_plain_model() -> None:
    plain = TUTORIAL / STEPS[0]
    files = [p for p in plain.rglob("*") if p.suffix in (".py", ".yaml") and "__pycache__" not in p.parts]
    assert files
    for path in files:
        if path.name.startswith("one"):  # registries grow
            continue
        for step in STEPS[1:]:
            assert (TUTORIAL / step / path.relative_to(plain)).read_bytes() == path.read_bytes()


def test_both_languages_have_the_same_parts() -> None:
    for name in ("README", "start-from-pangu"):
        texts = [(TUTORIAL / f"{name}{ending}").read_text("utf-8") for ending in (".md", ".zh-CN.md")]
        commands = [re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for text in texts]
        shapes = [re.findall(r"^(#+ |\| `[^`]+`)", text, re.MULTILINE) for text in texts]
        assert commands[0] == commands[1] and shapes[0] == shapes[1]


def test_the_files_that_the_pages_name_are_there() -> None:
    reference = TUTORIAL.parents[1] / "reference_models"
    for page in TUTORIAL.glob("*.md"):
        text = page.read_text("utf-8")
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (TUTORIAL / link).exists(), link
        for name in re.findall(r"`((?:modules|models)/[a-z0-9_/]+\.py)`", text):
            assert (reference / name).is_file(), name

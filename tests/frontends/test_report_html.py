"""The report as a page: whole, alone, in both languages, and with nothing of the checked code taken for HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from onescience_check.checkers.frontends.report_html import page
from onescience_check.checkers.frontends.report_picture import picture
from onescience_check.checkers.frontends.streams import visible_fields
from onescience_check.checkers.language import speaking
from onescience_check.checkers.report.build import make_report
from onescience_check.checkers.report.model import Report
from onescience_check.checkers.settings import Settings

from ..report.small_model import FILES

ROOT = Path(__file__).parents[2]
EVIL = "</pre><script>alert(1)</script>"
VOID = {"meta", "br"}


class Outline(HTMLParser):
    """Elements that are open, those that were seen, and attributes that name something outside of the page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.outside: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.outside += [
            name for name, _ in attrs if name in ("src", "href", "xlink:href", "onload", "onclick")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def reference() -> Iterator[Report]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield make_report([ROOT / "reference_models"], Settings(base=ROOT))


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(reference: Report) -> None:
    made = Outline(page(visible_fields(reference)))
    assert not made.outside and "script" not in made.seen
    assert {"svg", "table", "header", "ol"} <= set(made.seen)


def test_the_pipeline_shows_each_stage_and_what_crosses(reference: Report) -> None:
    model = reference.models[0]
    drawn = picture(model)
    assert [box.title for box in drawn.boxes] == [f"{s.rank}  {s.cls}" for s in model.stages]
    assert sum(len(box.labels) for box in drawn.boxes) == len(model.boundaries.rows)
    assert all(box.bar and box.share != "?" for box in drawn.boxes)
    assert any("KiB" in label.text for box in drawn.boxes for label in box.labels)
    tops = [box.y for box in drawn.boxes]
    assert tops == sorted(tops) and tops[-1] < drawn.height


def test_it_is_said_in_both_languages(reference: Report) -> None:
    english = Outline(page(visible_fields(reference))).text
    with speaking("zh"):
        text = page(visible_fields(reference))
    chinese = Outline(text).text
    assert '<html lang="zh-CN">' in text
    assert "To do" in english and "待办" in chinese and "To do" not in chinese
    sentences = re.findall(r"\b[a-z]+ (?:is|was|were|of|by|could) [a-z]+", chinese)
    assert not sentences


def test_what_the_code_says_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace('style="TinyDistributedFuser"', f"style={EVIL!r}"), "utf-8")
    made = make_report([tmp_path], Settings(base=tmp_path))
    assert made.models
    shown = page(visible_fields(made))
    assert EVIL not in shown and html.escape(EVIL, quote=False).replace("'", "&#39;") in shown
    assert "script" not in Outline(shown).seen


def test_code_between_backticks_is_marked_and_escaped(reference: Report) -> None:
    model = reference.models[0]
    note = replace(model, notes=("`a<b>` & <i>", "one ` alone <u>"))
    shown = page(Report((note,)))
    assert "<code>a&lt;b&gt;</code> &amp; &lt;i&gt;" in shown and "one ` alone &lt;u&gt;" in shown


def test_a_finding_is_marked_in_its_line_behind_tabs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("self.input_tensor = None", "pass").replace("    ", "\t"), "utf-8")
    made = make_report([tmp_path], Settings(base=tmp_path))
    frames = [frame for task in made.models[0].tasks for frame in task.frames]
    assert frames
    for frame in frames:
        line = frame.lines[frame.at.line - frame.first]
        assert "\t" not in line and line[frame.column : frame.end_column].strip()
    assert "\\t" not in page(visible_fields(made))


def test_without_a_model_the_page_says_so() -> None:
    assert "No distributed model was found" in Outline(page(Report((), ("a.py: not UTF-8",)))).text

"""Every text can be said in English and in Chinese, with the same fields."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import re
from pathlib import Path
from types import ModuleType

import pytest

from onescience_check.checkers import language
from onescience_check.checkers.finding import Finding, Place
from onescience_check.checkers.language import counted, listed, local, localized, speaking, tr
from onescience_check.checkers.report.checklists import _messages
from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules

from .rules.test_rules import findings

ROOT = Path(__file__).parent.parent
LOCALE = ROOT / "checkers/locale/zh"
ENGLISH = re.compile(r"\b(?!rank\b|forward step\b)[a-z]{3,} [a-z]{2,}\b")
"""Two plain words in a row, outside of code, that are no term: a sentence that was not translated."""
FIELD = re.compile(r"%(?:%|\((\w+)\))")


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_locale", ROOT / "docs/make_locale.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_text_is_there_in_chinese(maker: ModuleType) -> None:
    known = language.catalog("zh")
    missing = [f"{place[1]}: {text}" for text, place in maker.all_texts().items() if text not in known]
    assert not missing, "run `python docs/make_locale.py` and translate what it adds to checkers/locale/zh"


def test_the_catalogs_hold_what_is_said_and_nothing_else(maker: ModuleType) -> None:
    made = maker.pages(language.catalog("zh"))
    assert {file.stem for file in LOCALE.glob("*.po")} == set(made)
    old = [name for name, page in made.items() if (LOCALE / f"{name}.po").read_text("utf-8") != page]
    assert not old, "run `python docs/make_locale.py`"


@pytest.mark.parametrize("file", sorted(LOCALE.glob("*.po")), ids=lambda file: file.stem)
def test_both_languages_have_the_same_fields_and_the_same_code(file: Path) -> None:
    for english, chinese in language.entries(file.read_text("utf-8")):
        assert sorted(FIELD.findall(english)) == sorted(FIELD.findall(chinese)), english
        code = [set(re.findall(r"`([^`]+)`", text)) for text in (english, chinese)]
        assert code[0] == code[1], english


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.symbol)
def test_what_a_rule_finds_is_wholly_in_chinese(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what it puts together in code: every part of a message is marked with `tr`."""
    for name, text in {"example.py": rule.example("bad"), **rule.beside}.items():
        (tmp_path / name).write_text(text, "utf-8")
    found, _ = findings(tmp_path, rule.symbol, monkeypatch)
    assert found
    with speaking("zh"):
        said = [
            local(text)
            for finding in found
            for text in (finding.message, finding.advice, *(step.text for step in finding.evidence))
        ]
    assert not [text for text in said if ENGLISH.search(re.sub(r"`[^`]*`|\"[^\"]*\"|\([^)]*\)", "", text))]


def test_a_text_is_english_and_remembers_what_it_is_made_of() -> None:
    text = tr("`%(name)s` is built with input_is_parallel=%(told)s", name="proj", told=True)
    inner = tr("`%(layer)s` is built here", layer="50 % of it")
    outer = tr("%(path)s: %(reason)s", path="a.py", reason=inner)
    assert text == "`proj` is built with input_is_parallel=True" and isinstance(text, str)
    assert outer == "a.py: `50 % of it` is built here"
    for same in (pickle.loads(pickle.dumps(outer)), copy.deepcopy(outer), str(outer)):
        assert same == outer
        with speaking("zh"):
            assert local(same) == "a.py：`50 % of it` 在这里构造"
    assert local(outer) == outer


def test_texts_in_a_row_and_counted_ones_are_said_whole() -> None:
    parts = [tr("it is unpacked"), "`x`"]
    said = [listed(" and ", parts), counted(1, "stage"), counted(2, "boundary"), counted(3, "class")]
    assert said == ["it is unpacked and `x`", "1 stage", "2 boundaries", "3 classes"]
    with speaking("zh"):
        assert [local(text) for text in said] == ["它被拆包、`x`", "1 个 stage", "2 个边界", "3 个类"]


def test_only_marked_texts_of_plain_data_are_said_otherwise() -> None:
    data = {"name": "original", "note": tr("the original"), "rows": (tr("not found"), "not found")}
    with speaking("zh"):
        assert localized(data) == {"name": "original", "note": "原模型", "rows": ("未找到", "not found")}


def test_a_text_that_is_cut_in_english_is_whole_in_chinese() -> None:
    message = tr("`%(layer)s` is built here", layer="x" * 200)
    finding = Finding(Place("a.py", 1, 0, 1, 1), "E7101", "parallel-linear-tuple-used", message)
    said = _messages([finding, finding])
    assert said == f"`{'x' * 158}… (and 1 more)"
    with speaking("zh"):
        assert local(said) == f"`{'x' * 200}` 在这里构造（另有 1 处）"


def test_chinese_and_other_words_stand_apart() -> None:
    forwards = tr("the forward of %(count)s", count=counted(2, "stage"))
    code = tr("`%(wrapper)s` is here", wrapper="表a")
    with speaking("zh"):
        assert [local(forwards), local(code)] == ["2 个 stage 的 forward", "`表a` 在这里"]


def test_what_has_no_translation_is_said_in_english() -> None:
    with speaking("zh"):
        assert local(tr("nobody ever says %(what)s", what="this")) == "nobody ever says this"
        assert local("nobody ever says this") == "nobody ever says this"


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.GBK"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_locale_chooses(values: dict[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert language.of_locale() == wanted

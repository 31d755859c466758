"""Every command speaks the language that is asked for, by the option or by the locale."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onescience_check.checkers import language
from onescience_check.checkers.finding import Evidence, Finding, Place
from onescience_check.checkers.frontends.cli import main
from onescience_check.checkers.frontends.pylint_plugin import _text
from onescience_check.checkers.language import tr

BAD = """
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc = ColumnParallelLinear(8, 8, config=config, init_method=config.init_method, gather_output=False)
        self.act = nn.GELU()

    def forward(self, x):
        return self.act(self.fc(x))
"""
CHINESE = re.compile("[\u4e00-\u9fff]")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "mlp.py").write_text(BAD)

    def run(*arguments: str, locale: str = "C.UTF-8") -> tuple[int, str, str]:
        monkeypatch.setenv("LC_ALL", locale)
        monkeypatch.setattr(sys, "argv", ["onescience-check", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    yield run
    language.use("en")


@pytest.mark.parametrize(
    "arguments", [("mlp.py",), ("report", "."), ("explain", "E7101"), ("rules",), ("fix", "--diff", "mlp.py")]
)
def test_each_command_speaks_both_languages(command: Command, arguments: tuple[str, ...]) -> None:
    english, asked = command(*arguments), command(*arguments, "--lang", "zh")
    by_locale, against = (
        command(*arguments, locale="zh_CN.UTF-8"),
        command(*arguments, "--lang", "en", locale="zh_CN.UTF-8"),
    )
    assert not CHINESE.search("".join(english[1:])) and CHINESE.search("".join(asked[1:]))
    assert asked == by_locale and english == against
    assert english[0] == asked[0]


@pytest.mark.parametrize("arguments", [("mlp.py", "--format", "json"), ("report", "--format", "json", ".")])
def test_json_is_english_unless_chinese_is_asked_for(command: Command, arguments: tuple[str, ...]) -> None:
    english = json.loads(command(*arguments)[1])
    assert json.loads(command(*arguments, locale="zh_CN.UTF-8")[1]) == english
    chinese = json.loads(command(*arguments, "--lang", "zh")[1])
    assert chinese.keys() == english.keys()
    if "findings" in english:
        (mine,), (theirs,) = english["findings"], chinese["findings"]
        same = ("path", "line", "column", "id", "symbol", "object", "fix")
        assert [mine[key] for key in same] == [theirs[key] for key in same]
        assert all(CHINESE.search(theirs[key]) for key in ("message", "advice"))
        assert all(CHINESE.search(step["text"]) for step in theirs["evidence"])


@pytest.mark.parametrize("ahead", [["--lang", "zh"], ["--lang=zh"]])
def test_the_language_may_stand_in_front_of_a_command(command: Command, ahead: list[str]) -> None:
    code, out, error = command(*ahead, "baseline")
    assert (code, error) == (0, "") and "baseline.json" in out and CHINESE.search(out)
    code, out, _ = command(*ahead, "explain", "E7101")
    assert code == 0 and CHINESE.search(out)
    assert command(*ahead, "mlp.py", "--no-baseline")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("no_such.py",), "没有这个文件或文件夹"),
        (("mlp.py", "--select", "E7l01"), "没有名为 'E7l01' 的规则"),
        (("explain", "pair-usde"), "`onescience-check rules` 列出全部"),
        (("report", "nowhere"), "没有这个文件或文件夹"),
    ],
)
def test_errors_are_said_in_chinese(command: Command, arguments: tuple[str, ...], wanted: str) -> None:
    code, _, error = command(*arguments, "--lang", "zh")
    assert code == 2 and wanted in error


def test_settings_that_cannot_be_used_are_named_in_chinese(command: Command, tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("[onescience-check]\njobs = many\n")
    code, _, error = command("mlp.py", "--lang", "zh")
    assert code == 2 and "jobs = 'many'：请写不小于 1 的数" in error


def test_chinese_explanations_stay_within_the_terminal(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, output, _ = command("explain", "E7102", "--lang", "zh")
    from rich.cells import cell_len

    said = output.split("错误示例")[0]
    assert len(said.splitlines()) > 8 and max(map(cell_len, said.splitlines())) <= 60


def test_pylint_messages_are_english_unless_chinese_is_asked_for() -> None:
    layer = tr("`%(layer)s` is built here", layer="fc")
    finding = Finding(
        Place("a.py", 3, 0, 3, 4),
        "E7101",
        "parallel-linear-tuple-used",
        tr("`%(layer)s` returns an (output, bias) pair, and %(how)s", layer="fc", how=tr("it is unpacked")),
        evidence=(Evidence("a.py", 2, layer), Evidence("b.py", 1, layer)),
        advice=tr("Write `%(typed)s`.", typed="fc(x)[0]"),
    )
    assert _text(finding, "en") == (
        "`fc` returns an (output, bias) pair, and it is unpacked "
        "(because line 2: `fc` is built here; b.py:1: `fc` is built here). Write `fc(x)[0]`."
    )
    assert _text(finding, "zh") == (
        "`fc` 返回 (output, bias) 元组，而这里它被拆包 (依据 第 2 行: `fc` 在这里构造; b.py:1: `fc` 在这里构造). "
        "写 `fc(x)[0]`。"
    )

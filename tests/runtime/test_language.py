"""The runtime speaks Chinese where the locale does: each of its sentences has its Chinese in `zh.txt`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from onescience_check.runtime.flags import build_parser
from onescience_check.runtime.language import local, sentences

ROOT = Path(__file__).parent.parent.parent
SAYING = ("UserError", "ValueError", "_say", "_exit", "fail", "local", "_refuse")
"""Calls whose first argument is printed."""
COMPOSED = {
    "{} was killed by {}; stopping",
    "{} {}; {}",
    "warning: {} was cut short: {} missing in it",
    "{} processes cannot be split into tensor-parallel {} x {}pipeline-parallel {}: start a multiple of {} processes, "
    "or change --tensor-model-parallel-size / {}--pipeline-model-parallel-size",
}
"""What is filled with more than names and numbers: `zh.txt` has the whole sentences that come of it."""


def templates(value: ast.expr) -> Iterator[str]:
    """The texts an expression can be, with `{}` for what they are filled with."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in value.values)
    elif isinstance(value, ast.IfExp):
        yield from templates(value.body)
        yield from templates(value.orelse)
    elif isinstance(value, ast.BinOp):
        yield from (left + right for left in templates(value.left) for right in templates(value.right))


def said() -> Iterator[tuple[str, str]]:
    """File and text of what the runtime and the models say."""
    for path in sorted([*(ROOT / "runtime").rglob("*.py"), *(ROOT / "reference_models").rglob("*.py")]):
        if "verify" in path.parts:  # its results are translated by the command
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            values = [
                word.value for word in node.keywords if word.arg == "help" and path.stem in ("flags", "train")
            ]
            if name in SAYING or name == "add_argument_group":
                values += node.args[:1]
            for value in values:
                yield from ((path.name, text) for text in templates(value))


def test_every_sentence_is_there_in_chinese():
    whole = [(file, text) for file, text in said() if text.strip("{}: ")]
    known = sentences().keys() | COMPOSED
    assert len(whole) > 150
    assert not [f"{file}: {text}" for file, text in whole if text not in known], (
        "add the Chinese to runtime/zh.txt"
    )


def test_both_languages_are_filled_with_the_same():
    for english, chinese in sentences().items():
        numbered = {int(number) for number in re.findall(r"\{(\d)\}", chinese)}
        assert english.count("{}") == chinese.count("{}") + len(numbered), english
        assert not re.search(r"[\u4e00-\u9fff]", english) and re.search(r"[\u4e00-\u9fff，：（]", chinese)
        for flag in re.findall(r"--[a-z][a-z-]+", english):
            assert flag in chinese, english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "error: --save runs is in use by process 12 on host: wait for its end, or choose another folder",
            "错误：--save runs 正由进程 12，在 host 上使用：请等它结束，或换一个文件夹",
        ),
        (
            "error (rank 1): iteration 3: lm loss is nan: a.h5, time 5, channel t: 1 values are not finite, the first "
            "in row 1, column 2. Mend the data, or go on without such steps by --skip-nonfinite-steps",
            "错误（rank 1）：迭代 3：lm loss 为 nan：a.h5，时刻 5，通道 t：有 1 个值不是有限数，第一个在第 1 行第 2 列"
            "。请修复数据，或用 --skip-nonfinite-steps 跳过这样的步骤继续",
        ),
        (
            "2 processes on cpu (gloo): tensor-parallel 2 x pipeline-parallel 1 x data-parallel 1, 4 stages\n"
            "resumed from iteration 5 of runs",
            "2 个进程，设备 cpu（gloo）：张量并行 2 x 流水线并行 1 x 数据并行 1，4 个 stage\n从 runs 的迭代 5 继续",
        ),
        (
            "error: c.yaml: model.embed_dim must be int from 1 on, not -4",
            "错误：c.yaml：model.embed_dim 须为不小于 1 的 int，不能是 -4",
        ),
        ("nobody has translated this", "nobody has translated this"),
    ],
)
def test_a_message_is_said_in_the_language_of_the_locale(english, chinese, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert local(english) == chinese
    monkeypatch.setenv("LC_ALL", "C")
    assert local(english) == english


def test_help_is_in_chinese(monkeypatch, capsys):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    build_parser().print_help()
    shown = capsys.readouterr().out
    assert "检查点与记录" in shown and not re.search(r"\b[a-z]{3,} [a-z]{3,} [a-z]{3,}\b", shown)

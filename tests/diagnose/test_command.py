"""The command: what it prints, in both languages, as text and as JSON, and what it does with what is no log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from onescience_check.checkers.diagnose.kinds import BY_NAME
from onescience_check.checkers.diagnose.words import SENTENCES, of_kind
from onescience_check.checkers.diagnose.words_kinds import WORDS
from onescience_check.checkers.frontends.cli import app
from onescience_check.checkers.rules import all_rules

ROOT = Path(__file__).parents[2]
FUSER = "src/onescience/modules/fuser/zephyrdistributedfuser.py"
LOG = f"""[rank1]: Traceback (most recent call last):
[rank1]:   File "/data/run/{FUSER}", line 28, in forward
[rank1]:     out, _ = self.mix(torch.cat([x, y], dim=-1))
[rank1]:              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
[rank1]:   File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1778, in _wrapped_call_impl
[rank1]:     return self._call_impl(*args, **kwargs)
[rank1]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x64 and 32x32)
"""


def run(
    *arguments: str, log: str | bytes | None = None, folder: Path = ROOT / "docs/example"
) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, ["diagnose", *arguments, str(folder)], input=log)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, outcome.stdout


def data(log: str, *arguments: str) -> dict[str, object]:
    code, text = run("-", "--format", "json", *arguments, log=log)
    assert code in (0, 1, 2)
    found: dict[str, object] = json.loads(text)
    return found


def test_the_finding_that_explains_a_log_comes_first() -> None:
    code, text = run("--lang", "en", "-", log=LOG)
    assert code == 1
    assert "rank 1 failed first" in text
    first = text[text.index("  1. ") : text.index("  2. ")]
    assert "zephyrdistributedfuser.py:20" in first or "zephyrdistributedfuser.py:21" in first
    assert "E7102 input-is-parallel-mismatch" in first
    assert "onescience-check verify" in text


def test_both_languages_say_the_same_things() -> None:
    _, english = run("--lang", "en", "-", log=LOG)
    _, chinese = run("--lang", "zh", "-", log=LOG)
    assert len(english.splitlines()) == len(chinese.splitlines())
    assert "最先失败" in chinese and "failed first" not in chinese


def test_json_holds_the_answer() -> None:
    found = data(LOG)
    assert found["version"] == 1
    assert found["kind"] == "widths-do-not-fit"
    assert found["first"]["ranks"] == [1]
    assert found["causes"][0]["symbol"] == "input-is-parallel-mismatch"


def test_a_log_of_another_project_is_named_as_such() -> None:
    log = LOG.replace(FUSER, "other/place/net.py")
    _, text = run("--lang", "en", "-", log=log)
    assert "another project" in text


def test_a_log_of_another_version_is_named_as_such() -> None:
    log = LOG.replace("out, _ = self.mix(torch.cat([x, y], dim=-1))", "return self.old_name(x)")
    _, text = run("--lang", "en", "-", log=log)
    assert "another version" in text


def test_a_line_that_moved_is_found_again() -> None:
    found = data(LOG.replace("line 28", "line 999"))
    assert found["causes"][0]["symbol"] == "input-is-parallel-mismatch"
    assert not found["notes"]


@pytest.mark.parametrize(
    ("log", "code", "words"),
    [
        (b"", 2, "empty"),
        (bytes(range(16)) * 500, 2, "binary"),
        (b"epoch 1 loss 0.5\nepoch 2 loss 0.4\n", 0, "No failure seen|no failure seen"),
        (b"w:1:1 [0] NCCL WARN slow link\n", 0, "only warnings"),
        ("\n".join(LOG.splitlines()[:3])[:-7].encode(), 1, "middle of a traceback"),
    ],
)
def test_what_is_no_whole_log_gets_clear_words(log: bytes, code: int, words: str) -> None:
    found, text = run("--lang", "en", "-", log=log)
    assert found == code, text
    assert any(word in text for word in words.split("|")), text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", "日志为空"),
        (bytes(range(16)) * 500, "二进制"),
        (b"epoch 1 loss 0.5\nepoch 2 loss 0.4\n", "没有发现失败"),
        (b"w:1:1 [0] NCCL WARN slow link\n", "只有警告"),
        ("\n".join(LOG.splitlines()[:3])[:-7].encode(), "截断"),
        (LOG.replace(FUSER, "other/place/net.py").encode(), "另一个项目"),
        (
            LOG.replace("out, _ = self.mix(torch.cat([x, y], dim=-1))", "return self.old(x)").encode(),
            "另一个版本",
        ),
    ],
)
def test_what_is_no_whole_log_gets_clear_words_in_chinese_and_json(log: bytes, words: str) -> None:
    code, text = run("--lang", "zh", "-", log=log)
    assert words in text, text
    same, printed = run("--lang", "zh", "--format", "json", "-", log=log)
    assert same == code
    found = json.loads(printed)
    assert found["kind"] and (words in "".join(found["notes"]) or found["kind"] == "none-seen"), found[
        "notes"
    ]


def test_a_missing_log_is_said_in_a_line() -> None:
    outcome = CliRunner().invoke(app, ["diagnose", "no/such.log"])
    assert "no such file" in str(outcome.exception)


def test_a_folder_without_python_files_still_gets_the_kind(tmp_path: Path) -> None:
    code, text = run("--lang", "en", "-", log=LOG, folder=tmp_path)
    assert code == 1
    assert "no Python files" in text and "widths-do-not-fit" in text


def test_every_kind_has_words_in_both_languages_and_a_reference_that_exists() -> None:
    assert set(BY_NAME) == set(WORDS)
    for name, words in WORDS.items():
        for part in ("title", "test", "fix"):
            english, chinese = of_kind(name, part, "en"), of_kind(name, part, "zh")
            assert name == "none-seen" or (english and chinese and english != chinese), name
        assert not words.reference or (ROOT / words.reference).is_file(), words.reference


def test_every_sentence_has_the_same_fields_in_both_languages() -> None:
    for key, (english, chinese) in SENTENCES.items():
        fields = [sorted(part.split(")")[0] for part in text.split("%(")[1:]) for text in (english, chinese)]
        assert fields[0] == fields[1], key


def test_kinds_name_rules_that_exist() -> None:
    symbols = {rule.symbol for rule in all_rules()}
    for kind in BY_NAME.values():
        unknown = set(kind.symbols) - symbols
        assert not unknown, (kind.name, unknown)

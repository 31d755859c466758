"""The command line: exit codes, options, and one clear line for whatever goes wrong."""

from __future__ import annotations

import contextlib
import gc
import json
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from onescience_check.checkers import rules, selection
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Finding, Place, Result, Skipped, Summary
from onescience_check.checkers.frontends.cli import main
from onescience_check.checkers.report.model import Report
from onescience_check.checkers.rule import Rule, Symptom
from onescience_check.checkers.settings import Settings

ENGINE = "onescience_check.checkers.engine"
BUILD = "onescience_check.checkers.report.build"
LAYER = "from megatron.core.tensor_parallel import ColumnParallelLinear\n"


class PairUsed(Rule):
    """The pair is used as a tensor."""

    code, symbol = "E7101", "pair-used"
    why, runtime, limits, guide = "Because.", "AttributeError.", "None.", "§1"
    message, symptom = "pair", Symptom.CRASH
    bad, good = "act(fc(x))  # [pair-used]", "act(fc(x)[0])"


class FlagMissing(PairUsed):
    """The flag is left out."""

    code, symbol = "W7103", "flag-missing"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in an empty project; its engine finds each file's comments `# E7101` and `# W7103`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "model.py").write_text(LAYER)

    def run(paths: Sequence[Path], settings: Settings, progress: object, files: FileSet) -> Result:
        if "crash" in {path.stem for path in files.targets}:
            raise RuntimeError("no such\nthing")
        found = [
            Finding(Place(file.display, 1, 0, 1, 4), rule.code, rule.symbol, f"tp {settings.tp}")
            for file in files.files
            for rule in selection.selected_rules(settings)
            if f"# {rule.code}" in file.text
        ]
        if "odd" in {path.stem for path in files.targets}:
            files.skipped.append(Skipped("odd.py", "internal error in class Odd: KeyError: 1"))
        undecided = [finding for finding in found if "# undecided" in Path(finding.place.path).read_text()]
        found = [finding for finding in found if finding not in undecided]
        return Result(found, undecided, files.skipped, Summary(files.seen))

    monkeypatch.setattr(gc, "disable", lambda: None)  # the command's process ends, this one goes on
    engine = types.ModuleType(ENGINE)
    engine.run, engine.room = run, contextlib.nullcontext  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, ENGINE, engine)
    build = types.ModuleType(BUILD)
    build.make_report = lambda *_, **__: Report(())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, BUILD, build)
    monkeypatch.setattr(selection, "all_rules", lambda: (PairUsed_, FlagMissing_))
    monkeypatch.setattr(rules, "all_rules", lambda: (PairUsed_, FlagMissing_))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onescience-check", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        output = capsys.readouterr()
        assert "Traceback" not in output.out + output.err
        code = end.value.code
        return (code if isinstance(code, int) else 0, output.out, output.err)

    return call


PairUsed_, FlagMissing_ = PairUsed(), FlagMissing()


def test_exit_codes(command: Run, tmp_path: Path) -> None:
    assert command()[0] == 0
    (tmp_path / "model.py").write_text(LAYER + "# W7103\n")
    assert command()[0] == 1
    assert command("model.py")[0] == 1
    assert command("--fail-on", "E")[0] == 0
    (tmp_path / "broken.py").write_text(LAYER + "(")
    assert command()[0] == 1
    assert command("broken.py", "model.py")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "missing: no such file or folder"),
        (["empty"], "empty: no Python files"),
        (["broken.py"], "broken.py: syntax error at line 2"),
        (["crash"], "internal error: RuntimeError: no such thing; please report it"),
        (["--select", "pair-use"], "select: no rule is called 'pair-use'; did you mean pair-used?"),
        (["--ignore", "E7109"], "ignore: no rule is called 'E7109'; did you mean E7101?"),
        (["--select", "E8"], "no rule is called 'E8'"),
        (["--fail-on", "Q"], "fail-on: no rule is called 'Q'"),
        (["--fail-on", "EW"], "fail-on: no rule is called 'EW'; did you mean E,W?"),
        (["--fail-on", "e"], "did you mean E?"),
        (["--fail-on", "error"], "did you mean E?"),
        (["--fail-on", "7101"], "did you mean E7101?"),
        (["--select", "warnings"], "did you mean W?"),
        (["bad-gate"], "fail-on: no rule is called 'Q'"),
        (["--tp", "two"], "write sizes such as 1,2,4,8"),
        (["--jobs", "0"], "--jobs"),
        (["--format", "xml"], "xml"),
        (["--no-such-option"], "--no-such-option"),
        (["explain", "E9"], "no rule is called 'E9'"),
        (["explain"], "Missing argument"),
        (["bad-settings"], "unknown key 'profil'"),
    ],
)
def test_what_cannot_be_done_is_said_and_gives_2(
    command: Run, tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.py").write_text(LAYER + "(")
    for name, text in (
        ("crash/crash.py", LAYER),
        ("bad-settings/setup.cfg", "[onescience-check]\nprofil = guide"),
        ("bad-gate/setup.cfg", "[onescience-check]\nfail-on = Q"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    code, _, error = command(*arguments)
    assert code == 2
    assert said in error


def test_a_fault_of_ours_in_one_class_leaves_the_rest(command: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(LAYER + "# E7101\n")
    code, output, error = command()
    assert code == 2
    assert "E7101" in output
    assert "odd.py: internal error in class Odd: KeyError: 1; the rest was checked; please report it" in error


def test_the_rest_is_checked_when_one_path_is_missing(command: Run, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(LAYER + "# E7101\n")
    code, output, _ = command("missing", "model.py")
    assert code == 2
    assert "E7101" in output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["E7101", "W7103"]),
        (["--select", "W"], ["W7103"]),
        (["--select", "E71"], ["E7101"]),
        (["--select", "pair-used,flag-missing", "--ignore", "W7103"], ["E7101"]),
    ],
)
def test_select_and_ignore(command: Run, tmp_path: Path, arguments: list[str], expected: list[str]) -> None:
    (tmp_path / "model.py").write_text(LAYER + "# E7101 # W7103\n# W7103")
    document = json.loads(command("--format", "json", *arguments)[1])
    assert [finding["id"] for finding in document["findings"]] == expected


def test_strict_lists_and_fails(command: Run, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(LAYER + "# E7101 # undecided\n")
    assert command()[0] == 0
    code, output, _ = command("--strict")
    assert code == 1
    assert "Could not be decided" in output


def test_options_win_over_settings(command: Run, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(LAYER + "# E7101\n")
    (tmp_path / "setup.cfg").write_text("[onescience-check]\ntp = 16\n")
    assert "tp (16,)" in command()[1]
    assert "tp (2, 4)" in command("--tp", "4,2")[1]


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("W7502", "stage-shapes-mismatch"),
        ("e7106", "parallel-attention-incomplete"),
        ("E71", "sharded-value-escapes"),
    ],
)
def test_every_id_and_beginning_of_an_id_is_explained(
    name: str, symbol: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["onescience-check", "explain", name])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert symbol in capsys.readouterr().out


def test_explain_and_rules(command: Run) -> None:
    code, output, _ = command("explain", "e7101")
    assert code == 0
    for text in (
        "E7101 pair-used",
        "Because.",
        "AttributeError.",
        "act(fc(x)[0])",
        "# pylint: disable=pair-used",
    ):
        assert text in output
    assert command("--help")[0] == 0
    assert "--statistics" in command("check", "--help")[1]


def test_a_closed_pipe_is_no_error_to_shout_about() -> None:
    """As in `onescience-check | head`."""
    start = "from onescience_check.checkers.frontends.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "check", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate(timeout=60)
    assert error == ""

"""The report in its three formats, through the command."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu import estimate
from onescience_check.checkers.engine import examine, room
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.frontends import report_json, report_markdown, report_text
from onescience_check.checkers.report.balance_table import balance_table
from onescience_check.checkers.report.model import (
    At,
    BalanceTable,
    BoundaryTable,
    Checklist,
    DifferenceTable,
    DropPathTable,
    Line,
    Mark,
    ModelReport,
    Node,
    Report,
    StageInfo,
    Task,
    TensorRow,
)
from onescience_check.checkers.report.subjects import subjects
from onescience_check.checkers.settings import Settings

ROOT = Path(__file__).parents[2]
COMMAND = "from onescience_check.checkers.frontends.cli import main; main()"


def model() -> ModelReport:
    leaf = Node("fc1", "ColumnParallelLinear", "parallel", At("m/mlp.py", 9), config="stops")
    row = TensorRow("0 → 1", "x", "[1, 8, 4]", 2048, Mark.NO, "a constant", "x", "[1, 8, 4]", Mark.YES)
    return ModelReport(
        name="Net",
        folder="models/net_distributed",
        stages=(StageInfo(0, "Net_stage0", At("models/net_distributed/net.py", 3)),),
        original=None,
        scripts=(),
        configs=(),
        notes=("No training script that builds these stages was found.",),
        checklists=(
            Checklist(
                "Stage split",
                (Line("Each | line", "1.2", Mark.NO, "`a_b` <is> *wrong*", (At("net.py", 3),)),),
            ),
            Checklist("Tensor parallel", ()),
            Checklist("Training script", ()),
        ),
        files=(),
        tree=(Node("", "Net_stage0", "distributed", At("net.py", 3), children=(leaf,)),),
        registries=(),
        boundaries=BoundaryTable((row,)),
        balance=BalanceTable(),
        drop_path=DropPathTable(),
        differences=DifferenceTable(),
        ready=False,
        tasks=(Task("Write it.", "stage-attribute-missing", "E7201", (At("net.py", 3), At("net.py", 9))),),
    )


def test_text_says_verdict_tables_and_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    report_text.render(Report((model(),), ("bad.py: cannot be parsed",)))
    shown = capsys.readouterr().out
    for part in (
        "not ready to merge",
        "No training script",
        "Call tree",
        "config stops here",
        "2.0 KiB",
        "net.py:3,9",
    ):
        assert part in shown
    assert "E7201 stage-attribute-missing  Write it." in shown and "not analysed: bad.py" in shown


def test_markdown_keeps_cells_and_names_whole(capsys: pytest.CaptureFixture[str]) -> None:
    report_markdown.render(Report((model(),)))
    shown = capsys.readouterr().out
    assert "| ❌ | Each \\| line | `a_b` \\<is\\> \\*wrong\\*<br>net.py:3 |" in shown
    assert "1. **E7201 stage-attribute-missing** Write it.<br>`net.py:3,9`" in shown
    assert "  fc1: ColumnParallelLinear  [parallel layer]  config stops here  m/mlp.py:9" in shown


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    report_json.render(Report((model(),)))
    shown = json.loads(capsys.readouterr().out)
    assert shown["version"] == 1 and shown["models"][0]["ready"] is False
    assert shown["models"][0]["checklists"][0]["lines"][0]["mark"] == "no"
    assert shown["models"][0]["tree"][0]["children"][0]["at"] == {"path": "m/mlp.py", "line": 9}


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "report", *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_reference_model_has_no_red_line_and_one_set_of_sizes() -> None:
    done = run("reference_models", "--format", "json", cwd=ROOT)
    models = json.loads(done.stdout)["models"]
    assert len(models) == 2
    assert all(
        found["ready"] is not False and not any(task["rule"] for task in found["tasks"]) for found in models
    )
    found = next(found for found in models if found["name"] == "Pangu")
    assert found["ready"] is not False and not any(task["rule"] for task in found["tasks"])
    # The boundaries have the sizes of the YAML file, and so have the figures beside them.
    fine = 48 // 4 * (96 // 4) * 8 * (12 * 32**2 + 2 * 144 * 32)
    coarse = 48 // 8 * (96 // 8) * 8 * (12 * 64**2 + 2 * 144 * 64)
    embedding, recovery = 72 * 48 * 96 * 32, 69 * 48 * 96 * 64  # each cell of each channel, by the width
    costs = [fine + coarse + embedding, 2 * coarse, 2 * coarse, fine + coarse + recovery]
    assert [row["cost"] for row in found["balance"]["rows"]] == costs
    assert {row["tokens"] for row in found["boundaries"]["rows"]} == {8 * 12 * 24, 8 * 6 * 12}


def test_the_gpu_harness_holds_the_measured_memory_against_what_the_report_estimates() -> None:
    with room():
        files = FileSet.gather([ROOT / "reference_models"], Settings())
        found = subjects(examine(files, Settings(profile="guide")), [ROOT / "reference_models"])
        subject = next(subject for subject in found if subject.family.stages[0].cls.name == "Pangu_stage0")
        rows = balance_table(subject, BoundaryTable()).rows
    kept = [(row.kept or 0) / 2**30 for row in rows]
    assert kept == pytest.approx([estimate.activation_gib([stage]) for stage in range(4)])


def test_json_is_valid_whatever_the_encoding_of_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding in ("ascii", "latin-1"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding, errors="backslashreplace"))
        report_json.render(Report((), ("模型.py: “unreadable”",)))
        sys.stdout.flush()
        assert json.loads(raw.getvalue())["skipped"] == ["模型.py: “unreadable”"]


def test_no_path_is_broken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = f"src/{'long_folder_name/' * 6}stage.py"
    lines = (Line("A line of the checklist that is long", "1.2", Mark.NO, "wrong", (At(path, 345),)),)
    lists = (Checklist("Stage split", lines), *model().checklists[1:])
    report_text.render(Report((replace(model(), checklists=lists),)))
    assert f"{path}:345" in capsys.readouterr().out


def test_a_row_of_which_the_model_has_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (Line("A line", "1.2", Mark.NONE, "no mask"),)
    report_markdown.render(Report((replace(model(), checklists=(Checklist("Stage split", lines),)),)))
    assert "| – | A line | no mask |" in capsys.readouterr().out


def test_strict_lists_what_the_report_could_not_decide() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "check", "--strict", "reference_models"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 1 and "  ? No mask crosses" in done.stdout


def test_nothing_found_and_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    empty = run(".", cwd=tmp_path)
    assert empty.returncode == 1 and "No distributed model was found" in empty.stdout
    missing = run("nowhere", cwd=tmp_path)
    assert missing.returncode == 2 and "nowhere: no such file or folder" in missing.stderr

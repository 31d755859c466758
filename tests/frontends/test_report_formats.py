"""The report in its three formats, through the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import estimate
from onescience_check.checkers.frontends import report_json, report_markdown, report_text
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


def test_the_reference_model_is_ready() -> None:
    done = run("reference_models", "--format", "json", cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (found,) = json.loads(done.stdout)["models"]
    assert found["ready"] is True and found["tasks"] == []
    # What the GPU harness holds the measured memory against is what the report says.
    kept = [row["kept"] / 2**30 for row in found["balance"]["rows"]]
    assert kept == pytest.approx([estimate.activation_gib([stage]) for stage in range(4)])


def test_nothing_found_and_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    empty = run(".", cwd=tmp_path)
    assert empty.returncode == 1 and "No distributed model was found" in empty.stdout
    missing = run("nowhere", cwd=tmp_path)
    assert missing.returncode == 2 and "nowhere: no such file or folder" in missing.stderr

"""What the reports show of a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Edit, Evidence, Finding, Fix, Place, Result, Skipped, Summary
from onescience_check.checkers.frontends import json_report, text_report
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings

SOURCE = """# ColumnParallelLinear
class Mlp:
\tdef forward(self, x):
\t\t盘 = self.fc(x); y = act(盘)
\t\treturn y
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileSet:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp.py").write_text(SOURCE, "utf-8")
    return FileSet.gather([tmp_path], Settings())


def finding(**changes: object) -> Finding:
    end = Place("mlp.py", 4, 16, 4, 16)
    values = {
        "place": Place("mlp.py", 4, 22, 4, 28),
        "code": "E7101",
        "symbol": "parallel-linear-tuple-used",
        "message": "盘 is a pair [and] act() takes a tensor",
        "object": "Mlp.forward",
        "evidence": (
            Evidence("mlp.py", 4, "fc gives a pair"),
            Evidence("lib/layers.py", 9, "fc is built here"),
        ),
        "guide": "§3",
        "fix": Fix("safe", (Edit(end, "[0]"),)),
        "advice": "self.fc(x)[0]",
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


def result(
    *findings: Finding, undecided: tuple[Finding, ...] = (), skipped: tuple[Skipped, ...] = ()
) -> Result:
    counts = {item.symbol: 1 for item in findings}
    return Result(list(findings), list(undecided), list(skipped), Summary(7, 5, 3, 2, 1, 0, counts))


def shown(
    capsys: pytest.CaptureFixture[str],
    files: FileSet,
    what: Result,
    strict: bool = False,
    statistics: bool = False,
) -> str:
    text_report.render(what, files, strict=strict, statistics=statistics)
    return capsys.readouterr().out


def test_a_finding_shows_code_evidence_and_what_to_type(
    files: FileSet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, files, result(finding())) == (
        "mlp.py\n"
        "  4:23  E7101 parallel-linear-tuple-used  in Mlp.forward\n"
        "    盘 is a pair [and] act() takes a tensor\n"
        "        3 |     def forward(self, x):\n"
        "        4 |         盘 = self.fc(x); y = act(盘)\n"
        "          |                              ^^^^^^^\n"
        "    because\n"
        "      line 4: fc gives a pair\n"
        "      lib/layers.py:9: fc is built here\n"
        "    fix: self.fc(x)[0]\n"
        "        4 +         盘 = self.fc(x)[0]; y = act(盘)\n"
        "\n"
        "1 error in 1 file.\n"
        "7 Python files, 5 parallel layers seen, 3 of them row-parallel, with 3 inputs: 2 decided, 1 could not be "
        "(--strict lists undecided places).\n"
        "`onescience-check explain parallel-linear-tuple-used` says why, with a bad and a good example.\n"
        "reference_models/modules/mlp/pangudistributedmlp.py shows the right way.\n"
    )


def test_a_span_over_several_lines_and_a_span_past_the_end(
    files: FileSet, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(
        capsys, files, result(finding(place=Place("mlp.py", 3, 1, 5, 10), evidence=(), advice="", fix=None))
    )
    assert "          |     ^^^^^^^^^^^^^^^^^^^^^\n" in text
    assert "99:1" in shown(capsys, files, result(finding(place=Place("mlp.py", 99, 0, 99, 1))))


def test_silence_is_not_proof(files: FileSet, capsys: pytest.CaptureFixture[str]) -> None:
    undecided = finding(decided=False, message="cannot be told")
    clean = result(undecided=(undecided,), skipped=(Skipped("bad.py", "syntax error at line 3: x"),))
    text = shown(capsys, files, clean)
    assert "No findings.\n" in text
    assert "cannot be told" not in text
    assert "1 could not be (--strict lists undecided places)" in text
    assert "1 file not analysed, or only in part:\n  bad.py: syntax error at line 3: x\n" in text
    assert "Could not be decided:" in shown(capsys, files, clean, strict=True)
    clean.summary = Summary(files=7)
    assert "7 Python files, no parallel layer seen: there was nothing to decide." in shown(
        capsys, files, clean
    )
    clean.summary = Summary(files=7, parallel_layers=2)
    assert "none of them row-parallel: there was no input to decide." in shown(capsys, files, clean)


def test_findings_that_comments_switch_off_are_counted(
    files: FileSet, capsys: pytest.CaptureFixture[str]
) -> None:
    what = result()
    what.summary.suppressed = 2
    assert "No findings, 2 findings switched off by comments.\n" in shown(capsys, files, what)


def test_nothing_is_said_of_files_that_are_not_there(
    files: FileSet, capsys: pytest.CaptureFixture[str]
) -> None:
    what = result()
    what.summary = Summary()
    assert "No findings" not in shown(capsys, files, what)


def test_statistics_count_each_rule(files: FileSet, capsys: pytest.CaptureFixture[str]) -> None:
    warning = finding(code="W7103", symbol="input-is-parallel-implicit")
    text = shown(capsys, files, result(finding(), finding(), warning), statistics=True)
    assert "    2          0  E7101 parallel-linear-tuple-used\n    1          0  W7103" in text
    assert "2 errors, 1 warning in 1 file." in text


def test_control_characters_are_not_sent_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mlp.py").write_text("ColumnParallelLinear = '\x1b[31m'\n")
    files = FileSet.gather([tmp_path], Settings())
    path = files.files[0].display
    assert "\x1b" not in shown(capsys, files, result(finding(place=Place(path, 1, 0, 1, 5))))


def test_json_is_version_2(files: FileSet, capsys: pytest.CaptureFixture[str]) -> None:
    what = result(finding(), undecided=(finding(fix=None),), skipped=(Skipped("bad.py", "why"),))
    json_report.render(what, files, strict=False, statistics=False)
    document = json.loads(capsys.readouterr().out)
    keys = "version tool findings undecided skipped summary accepted stale older left_out"
    assert list(document) == keys.split()
    assert document["version"] == 2 and document["accepted"] == 0
    assert document["stale"] == [] and document["older"] is None
    rule = next(rule for rule in all_rules() if rule.code == "E7101")
    edit = {"path": "mlp.py", "line": 4, "column": 17, "end_line": 4, "end_column": 17, "text": "[0]"}
    assert document["findings"] == [
        {
            "path": "mlp.py",
            "line": 4,
            "column": 23,
            "end_line": 4,
            "end_column": 29,
            "id": "E7101",
            "symbol": "parallel-linear-tuple-used",
            "message": "盘 is a pair [and] act() takes a tensor",
            "object": "Mlp.forward",
            "evidence": [
                {"path": "mlp.py", "line": 4, "text": "fc gives a pair"},
                {"path": "lib/layers.py", "line": 9, "text": "fc is built here"},
            ],
            "guide": "§3",
            "advice": "self.fc(x)[0]",
            "why": rule.why,
            "symptom": "crash",
            "runtime": rule.runtime,
            "fix": {"applicability": "safe", "edits": [edit]},
            "confidence": "high",
        }
    ]
    assert document["undecided"][0]["fix"] is None
    assert document["skipped"] == [{"path": "bad.py", "reason": "why"}]
    assert document["summary"] == {
        "files": 7,
        "parallel_layers": 5,
        "row_layers": 3,
        "inputs_decided": 2,
        "inputs_undecided": 1,
        "suppressed": 0,
        "by_symbol": {"parallel-linear-tuple-used": 1},
    }

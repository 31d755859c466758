"""Every form of the result, read by programs that are not ours where they are installed."""

from __future__ import annotations

import gc
import html.parser
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Evidence, Finding, Place, Result, Skipped, Summary
from onescience_check.checkers.frontends.cli import main
from onescience_check.checkers.frontends.formats import agent, github, gitlab, junit, markdown, sarif
from onescience_check.checkers.frontends.formats import html as page
from onescience_check.checkers.frontends.formats.terms import most_harmful
from onescience_check.checkers.frontends.json_report import document
from onescience_check.checkers.frontends.text_report import verdict
from onescience_check.checkers.language import localized

ROOT = Path(__file__).parents[2]
FAULT = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Output(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.drop(self.proj(x))
        return self.drop(self.proj(x))  # pylint: disable=parallel-linear-tuple-used
"""
FORMS = ("json", "agent", "sarif", "github", "gitlab", "junit", "markdown", "html")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "disable", lambda: None)  # the command's process ends, this one goes on
    (tmp_path / "setup.cfg").write_text("[onescience-check]\nprofile = universal\n")
    (tmp_path / "a model.py").write_text(FAULT)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onescience-check", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfd.readouterr()
        return int(end.value.code or 0), out, err

    return call


def odd(files: FileSet | None = None) -> tuple[Result, FileSet]:
    """A result with everything that a form might trip over."""
    place = Place("odd/名 %,:|<a>.py", 3, 4, 5, 6)
    texts = "100% <b>|`x` ]]> \x1b[31m\n::error::"
    finding = Finding(
        place, "E7101", "parallel-linear-tuple-used", texts, "A|b", (Evidence("/b.py", 1, texts),)
    )
    again = Finding(place, "C0000", "no-rule-of-ours", "m", advice="a `b | c`")
    skipped = [Skipped("x.py", "internal error in rule x: 1"), Skipped("y.py", "unreadable")]
    return Result([finding, finding, again], [], skipped, Summary(1)), files or FileSet()


@pytest.fixture
def found(command: Run) -> Callable[[str], Any]:
    return lambda form: json.loads(command("--format", form)[1])


def test_json_is_what_its_schema_says(found: Callable[[str], Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs/findings.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    check.validate(found("json"))
    check.validate(localized(document(odd()[0])))


def test_the_schema_names_every_key(found: Callable[[str], Any]) -> None:
    schema = json.loads((ROOT / "docs/findings.schema.json").read_text("utf-8"))
    given = found("json")
    assert set(given) == set(schema["properties"]) == set(schema["required"])
    keys = set(schema["$defs"]["finding"]["properties"])
    assert set(given["findings"][0]) == keys == set(schema["$defs"]["finding"]["required"])


def test_a_finding_in_json_needs_no_second_call(found: Callable[[str], Any]) -> None:
    (finding,) = found("json")["findings"]
    for key in ("why", "advice", "guide", "symptom", "runtime"):
        assert finding[key], key
    assert finding["symptom"] == "crash" and finding["fix"]["edits"][0]["text"] == "[0]"


def test_sarif(found: Callable[[str], Any]) -> None:
    log = found("sarif")
    pytest.importorskip("sarif_pydantic").Sarif.model_validate(log)
    (run,) = log["runs"]
    first, second = run["results"]
    assert first["suppressions"] == [] and second["suppressions"] == [{"kind": "inSource"}]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20model.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12, "startColumn": 23, "endLine": 12, "endColumn": 35}
    rule = run["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert (rule["id"], rule["name"]) == ("E7101", "ParallelLinearTupleUsed") and "Wrong:" in rule["help"][
        "markdown"
    ]
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "[0]"}
    assert first["partialFingerprints"] != second["partialFingerprints"]


def test_fingerprints_stay_while_code_moves(found: Callable[[str], Any], tmp_path: Path) -> None:
    def names() -> list[str]:
        return [row["fingerprint"] for row in found("gitlab")]

    before = names()
    (tmp_path / "a model.py").write_text("# moved\n" + FAULT.replace("( self", "(self"))
    assert names() == before and len(set(before)) == len(before)


def test_what_is_accepted_is_suppressed_in_sarif(found: Callable[[str], Any], command: Run) -> None:
    command("baseline")
    results = found("sarif")["runs"][0]["results"]
    assert [mark["kind"] for result in results for mark in result["suppressions"]] == ["inSource", "external"]
    assert found("gitlab") == []


def test_odd_texts_stay_in_their_place(tmp_path: Path) -> None:
    result, files = odd()
    for line in github.lines(result, files):
        head, _, text = line.removeprefix("::").partition("::")
        assert "\n" not in line and re.fullmatch(
            r"(error|notice) title=[^,]*,file=[^,:]*,line=3,endLine=5", head
        ), head
        assert "::error::" not in text or "%0A" in text
    root = ElementTree.fromstring("\n".join(junit.lines(result, files)))
    assert len(root.findall("./testsuite/testcase/failure")) == 3 == int(root.attrib["failures"])
    rows = json.loads("\n".join(gitlab.lines(result, files)))
    assert len({row["fingerprint"] for row in rows}) == 3
    table = [line for line in markdown.lines(result, files) if line.startswith("|")]
    assert [len(line.split("|")) for line in table] == [6] * 5
    assert not any("<b>" in line or "\x1b" in line for line in markdown.lines(result, files))
    (run,) = json.loads("\n".join(sarif.lines(result, files)))["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].isascii()
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["error", "warning"]


class Balance(html.parser.HTMLParser):
    """Tags that are open, and every address a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_one_whole_page(command: Run) -> None:
    text = command("--format", "html")[1]
    for shown in (text, "\n".join(page.lines(*odd()))):
        balance = Balance()
        balance.feed(shown)
        assert balance.open == [] and balance.loaded == []
        assert "prefers-color-scheme: dark" in shown and "@media print" in shown and "viewport" in shown
    assert "<b>|" not in "\n".join(page.lines(*odd()))
    assert "self.drop(self.proj(x)[0])" in text and "parallel-linear-tuple-used" in text


def test_junit_is_read_by_junitparser(command: Run, tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    command("--format", "junit:out.xml")
    suites = junitparser.JUnitXml.fromfile(str(tmp_path / "out.xml"))
    assert (suites.tests, suites.failures) == (1, 1)
    command("--format", "junit:out.xml", "--ignore", "E7101")
    suites = junitparser.JUnitXml.fromfile(str(tmp_path / "out.xml"))
    assert (suites.tests, suites.failures) == (1, 0)


def test_an_agent_is_told_what_to_type_where_it_stands_right_and_what_to_call_next(command: Run) -> None:
    code, out, err = command("--format", "agent", ".")
    assert (code, err) == (1, "") and "\x1b" not in out
    head, *blocks, last = out.strip().split("\n\n")
    assert head.splitlines()[0] == "onescience-check: 1 error in 1 file, 1 finding switched off by comments."
    folder = Path(head.splitlines()[1].removeprefix("references: "))
    (block,) = blocks
    keys = [line.partition(":")[0] for line in block.splitlines()[1:] if not line.startswith(" ")]
    assert keys == ["at", "wrong", "run", "because", "do", "fix", "see"]
    assert "  12 +         x = self.drop(self.proj(x)[0])" in block
    path, line = block.splitlines()[-1].removeprefix("see: ").split(":")
    assert "_ = self.fc2(x)" in (folder / path).read_text("utf-8").splitlines()[int(line) - 1]
    assert last == "next: `onescience-check fix .` (makes the safe edits), then this command again"
    asked = command("--format", "agent", ".", "--lang", "zh")[1]
    assert "（完成安全的修改），然后再次运行本命令" in asked and "do: 先取出输出" in asked
    clean = command("--format", "agent", "--ignore", "E7101", "a model.py")[1]
    assert clean.endswith("then `onescience-check report 'a model.py'`\n")


def test_an_agent_reads_what_could_not_be_decided_or_read() -> None:
    result, files = odd()
    result.undecided = [replace(result.findings[0], decided=False)]
    said = list(agent.lines(result, files, strict=True, paths=["."]))
    assert "[4] E7101 parallel-linear-tuple-used (could not be decided)" in said
    assert "unread: y.py: unreadable" in said and said[-1].startswith("next: mend what could not be read")
    assert not any("\n" in line or "\x1b" in line for line in said)


def test_the_most_harmful_come_first_and_the_rest_is_counted() -> None:
    places = [Place("a.py", line, 0, line, 1) for line in range(1, 6)]
    names = [("C7400", "none"), ("W7105", "b"), ("E7121", "c"), ("E7121", "c"), ("E7101", "no-rule")]
    found = [Finding(place, code, symbol, "m") for place, (code, symbol) in zip(places, names, strict=True)]
    result = most_harmful(Result(found, [], [], Summary(1)), 3)
    assert [finding.place.line for finding in result.findings] == [3, 5, 4] and result.left_out == 2
    assert "2 more, no more harmful, left out" in verdict(result)
    assert document(result)["left_out"] == 2


def test_what_is_left_out_fails_the_run_all_the_same(command: Run, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(FAULT.replace("  # pylint: disable=parallel-linear-tuple-used", ""))
    code, out, _ = command("--format", "json", "--max-findings", "1")
    given = json.loads(out)
    assert (code, len(given["findings"]), given["left_out"]) == (1, 1, 2)


def test_several_forms_in_one_run(command: Run, tmp_path: Path) -> None:
    given = ",".join(f"{form}:out.{form}" for form in FORMS[1:])
    code, out, err = command("--format", "text", "--format", given, "--format", "json:out.json")
    assert (code, err) == (1, "") and "E7101 parallel-linear-tuple-used" in out
    assert all((tmp_path / f"out.{form}").read_text().strip() for form in FORMS)
    assert command("--format", given)[:2] == (1, "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("xml", "write one of text, agent, json, sarif"),
        ("json:", "write one of text"),
        ("json,sarif", "only one form goes to standard output"),
        ("json:a,sarif:a", "two forms go to one file"),
        ("json:none/a", "there is no such folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_checked(
    command: Run, given: str, said: str
) -> None:
    code, out, err = command("--format", given)
    assert code == 2 and not out and said in err


def test_a_file_that_cannot_be_written_is_named(command: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    code, _, err = command("--format", "json:out")
    assert code == 2 and "out: cannot be written: is a directory" in err


def test_programs_are_told_in_english_and_readers_in_their_language(command: Run, tmp_path: Path) -> None:
    command("--format", "json:out.json", "--lang", "zh")
    chosen = (tmp_path / "out.json").read_text("utf-8")
    command("--format", "json:out.json")
    assert (tmp_path / "out.json").read_text("utf-8").isascii()
    assert json.loads(chosen)["findings"]

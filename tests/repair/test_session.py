"""Which edits are kept, and what is written."""

from __future__ import annotations

import ast
import os
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Edit, Finding, Fix, Place
from onescience_check.checkers.repair import session
from onescience_check.checkers.repair.session import Repair, repair
from onescience_check.checkers.rule import Rule
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings, load_settings

TYPED = [rule for rule in all_rules() if rule.fix_kind]
PAIR = """\
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Output(nn.Module):  # a comment
    def __init__(self, dim, config):
        super().__init__()
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=False, skip_bias_add=False,
        )
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.drop( self.proj(x) )   # as it is
        return self.drop(self.proj(x))
"""
MENDED = PAIR.replace("self.proj(x)", "self.proj(x)[0]")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "model.py").write_text(PAIR)
    return tmp_path


def settings(base: Path) -> Settings:
    has_settings = bool((base / "setup.cfg").read_text())
    return load_settings(base) if has_settings else Settings(tp=(1, 2, 4, 8), profile="guide", base=base)


def mend(
    tree: Path, *paths: str, write: bool = True, wanted: Callable[[Finding], bool] | None = None
) -> Repair:
    return repair(
        [tree / path for path in paths] or [tree], settings(tree), wanted or (lambda _: True), write=write
    )


def test_findings_are_repaired_and_the_rest_of_the_file_stays(tree: Path) -> None:
    done = mend(tree)
    assert (tree / "model.py").read_text() == MENDED
    assert [finding.symbol for finding in done.fixed] == ["parallel-linear-tuple-used"] * 2
    assert not done.refused and not done.remaining
    assert {path.name for path in tree.iterdir()} == {"model.py", "setup.cfg"}, "nothing is left behind"


def test_a_second_run_changes_nothing(tree: Path) -> None:
    mend(tree)
    before = os.stat(tree / "model.py")
    done = mend(tree)
    assert not done.fixed and not done.after
    assert os.stat(tree / "model.py") == before


def test_nothing_is_written_when_only_asked(tree: Path) -> None:
    done = mend(tree, write=False)
    assert (tree / "model.py").read_text() == PAIR
    assert done.after[tree / "model.py"].decode() == MENDED


def test_only_what_is_wanted(tree: Path) -> None:
    done = mend(tree, wanted=lambda finding: finding.place.line == 15)
    assert len(done.fixed) == 1 and len(done.remaining) == 1 and not done.refused


@pytest.mark.parametrize("rule", TYPED, ids=lambda rule: rule.symbol)
def test_every_bad_example_is_repaired_once(rule: Rule, tree: Path) -> None:
    (tree / "model.py").unlink()
    (tree / "example.py").write_text(rule.example("bad"))
    for name, text in rule.beside.items():
        (tree / name).write_text(text)
    before = Counter(finding.symbol for finding in run([tree], settings(tree)).findings)

    def is_own(finding: Finding) -> bool:
        return finding.symbol == rule.symbol

    done = mend(tree, wanted=is_own)
    assert not [refused.reason for refused in done.refused]
    assert before[rule.symbol] == len(done.fixed) > 0
    after = Counter(finding.symbol for finding in run([tree], settings(tree)).findings)
    assert not after - before and not after[rule.symbol]
    for path in tree.glob("*.py"):
        ast.parse(path.read_text())
    assert not mend(tree, wanted=is_own).after


def with_edits(monkeypatch: pytest.MonkeyPatch, change: Callable[[Finding], Fix]) -> None:
    """The findings of the first look carry other edits than their rule gave them."""
    real = session.look

    def look(*args: object, **options: object) -> session.Look:
        found = real(*args, **options)  # type: ignore[arg-type]
        changed = tuple(Finding(**{**finding.__dict__, "fix": change(finding)}) for finding in found.findings)
        return session.Look(changed, found.elsewhere, found.skipped, found.files, found.edited)

    monkeypatch.setattr(session, "look", look)


def at(line: int, column: int, text: str, path: str = "model.py") -> Edit:
    return Edit(Place(path, line, column, line, column), text)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (at(15, 0, "if:"), "model.py: syntax error at line 15"),
        (at(15, 40, "  # nothing"), "the finding would stay"),
        (
            at(14, 25, "\n        self.proj(x).sum()"),
            "it would bring parallel-linear-tuple-used at model.py:15",
        ),
        (at(1, 0, "", "elsewhere.py"), "elsewhere.py is not among the checked paths"),
    ],
)
def test_an_edit_that_does_not_help_is_left_and_the_others_are_made(
    tree: Path, monkeypatch: pytest.MonkeyPatch, bad: Edit, reason: str
) -> None:
    def change(finding: Finding) -> Fix:
        good = finding.fix
        assert good is not None
        if finding.place.line != 15:
            return good
        mends = good.edits if "bring" in reason or "checked" in reason else ()
        return Fix("safe", (*mends, bad))

    with_edits(monkeypatch, change)
    done = mend(tree)
    assert (tree / "model.py").read_text() == PAIR.replace("drop(self.proj(x))", "drop(self.proj(x)[0])")
    assert len(done.fixed) == 1
    assert [refused.reason.startswith(reason) for refused in done.refused] == [True]


def test_edits_at_one_place_are_made_one_after_the_other(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(finding: Finding) -> Fix:
        assert finding.fix is not None
        head = at(1, 0, f"# {finding.place.line}\n")
        return Fix("safe", (head, *finding.fix.edits))

    with_edits(monkeypatch, change)
    done = mend(tree)
    assert len(done.fixed) == 2 and not done.refused
    assert (tree / "model.py").read_text() == "# 17\n# 15\n" + MENDED


def test_a_line_that_two_edits_ask_for_is_written_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(finding: Finding) -> Fix:
        assert finding.fix is not None
        return Fix("safe", (at(1, 0, "import os\n"), *finding.fix.edits))

    with_edits(monkeypatch, change)
    mend(tree)
    assert (tree / "model.py").read_text() == "import os\n" + MENDED


def test_a_read_only_file_is_left(tree: Path) -> None:
    (tree / "model.py").chmod(0o444)
    done = mend(tree)
    assert (tree / "model.py").read_text() == PAIR
    assert {refused.reason for refused in done.refused} == {"model.py is read-only"}
    assert all(refused.barred for refused in done.refused)


def test_a_link_is_left_and_names_its_file(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "real.py"
    (tree / "model.py").rename(outside)
    (tree / "model.py").symlink_to(outside)
    done = mend(tree)
    assert outside.read_text() == PAIR and (tree / "model.py").is_symlink()
    assert {refused.reason for refused in done.refused} == {
        f"model.py is a link: name the file it leads to, {outside}"
    }


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_stay(tree: Path, ends: str) -> None:
    mixed = PAIR.replace("\n", ends).replace(f"nn{ends}", "nn\n").encode()
    (tree / "model.py").write_bytes(mixed)
    mend(tree)
    assert (tree / "model.py").read_bytes() == mixed.replace(b"self.proj(x)", b"self.proj(x)[0]")


def test_the_rights_of_a_file_stay(tree: Path) -> None:
    (tree / "model.py").chmod(0o750)
    mend(tree)
    assert stat.S_IMODE(os.stat(tree / "model.py").st_mode) == 0o750


def test_a_file_that_changes_meanwhile_is_left_and_the_others_are_written(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "other.py").write_text(PAIR)
    real, calls = session.look, []

    def look(*args: object, **options: object) -> session.Look:
        calls.append(1)
        if len(calls) == 2:
            (tree / "other.py").write_text(PAIR + "\n# typed by somebody\n")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "look", look)
    done = mend(tree)
    assert (tree / "model.py").read_text() == MENDED
    assert (tree / "other.py").read_text().endswith("# typed by somebody\n")
    assert {refused.reason for refused in done.refused} == {"other.py changed meanwhile"}


def test_an_edit_may_not_bring_a_fault_into_a_file_that_was_not_asked_about(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block is given a pair from here on, in a file that only uses this one."""
    (tree / "model.py").write_text(
        PAIR.replace("        return self.drop(self.proj(x))\n", "        return x\n")
    )
    (tree / "user.py").write_text(USER)

    def change(finding: Finding) -> Fix:
        assert finding.fix is not None
        return Fix("safe", (*finding.fix.edits, Edit(Place("model.py", 16, 15, 16, 16), "self.proj(x)")))

    with_edits(monkeypatch, change)
    done = mend(tree, "model.py")
    assert [refused.reason for refused in done.refused] == [
        "it would bring parallel-linear-tuple-used at user.py:14"
    ]


USER = """\
from megatron.core.tensor_parallel import ColumnParallelLinear
from model import Output
from torch import nn


class User(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = Output(dim, config)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        y = self.inner(x)
        return self.norm(y)
"""


SAFE_OR_NOT = {
    "used at once": ("        return self.drop(self.proj(x))", "safe"),
    "kept, used once": ("        y = self.proj(x)\n        return self.drop(y)", "safe"),
    "indexed elsewhere": (
        "        y = self.proj(x)\n        z = self.drop(y)\n        return z + y[0]",
        "unsafe",
    ),
    "unpacked elsewhere": (
        "        y = self.proj(x)\n        z = self.drop(y)\n        a, _ = y\n        return z + a",
        "unsafe",
    ),
}


@pytest.mark.parametrize("name", SAFE_OR_NOT)
def test_taking_the_output_is_safe_where_nobody_else_takes_the_pair_apart(tree: Path, name: str) -> None:
    body, kind = SAFE_OR_NOT[name]
    (tree / "model.py").write_text(PAIR[: PAIR.index("        x = self.drop")] + body + "\n")
    found = [f for f in run([tree], settings(tree)).findings if f.symbol == "parallel-linear-tuple-used"]
    assert [finding.fix.applicability for finding in found if finding.fix] == [kind]

"""Runs that an earlier one stands for, and constructors that are put off: less work, and the same answers."""

from __future__ import annotations

from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.project.project import Project
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.analysis import Analysis
from onescience_check.checkers.tpstate.choices import alternatives
from onescience_check.checkers.tpstate.events import ParallelCall
from onescience_check.checkers.tpstate.states import State
from onescience_check.checkers.tpstate.summaries import Reads, Summaries
from onescience_check.checkers.tpstate.values import UNKNOWN, Const, Obj, Tensor

from .conftest import Trees


def kept(branch: dict[str, bool], *asked: str, logged: bool = False) -> Summaries:
    summaries = Summaries()
    reads = Reads(branch, {}, 0)
    for key in asked:
        reads.note(key)
    summaries.keep("f", Const(1), reads, logged)
    return summaries


def test_a_condition_that_was_never_asked_for_may_be_anything() -> None:
    summaries = kept({"a": True, "b": True}, "a")
    assert summaries.find("f", {"a": True}, {}) is not None
    assert summaries.find("f", {"a": True, "b": False}, {}) is not None
    assert summaries.find("f", {"a": False}, {}) is None
    assert summaries.find("f", {}, {}) is None
    assert summaries.find("f", {}, {"a": True}) is not None


def test_a_condition_that_was_open_has_to_be_open_again() -> None:
    summaries = kept({}, "a")
    assert summaries.find("f", {"b": True}, {}) is not None
    assert summaries.find("f", {"a": True}, {}) is None


def test_what_was_logged_under_a_condition_stands_only_below_it() -> None:
    summaries = kept({"b": True}, logged=True)
    assert summaries.find("f", {"a": False, "b": True}, {}) is not None
    assert summaries.find("f", {"a": False}, {}) is None


def test_other_arguments_are_another_call() -> None:
    assert kept({}).find(("f", UNKNOWN), {}, {}) is None


DELAYED = """
class Scale(nn.Module):
    def __init__(self, dim, wide):
        super().__init__()
        if wide:
            self.inner = nn.Linear(dim, dim)
        else:
            self.inner = nn.Identity()

    def forward(self, x):
        return self.inner(x)


class Model(nn.Module):
    def __init__(self, dim, config, wide):
        super().__init__()
        self.unused = Scale(2, wide)
        self.full = nn.Linear(dim, dim)
        self.split = COLUMN(dim, dim)
        if wide:
            self.scale = Scale(dim, wide)
        else:
            self.scale = Scale(dim, wide)
        self.probe = SPLIT_ROW(dim, dim)

    def forward(self, x):
        if self.wide:
            return x
        return self.probe(self.scale(self.split(x)[0]))[0]
"""


def test_a_delayed_constructor_runs_once_it_is_asked_for(trees: Trees) -> None:
    trees.write(DELAYED)
    settings = Settings(profile="universal", base=trees.folder)
    analysis = Analysis(Project(FileSet.gather([trees.folder], settings), settings))
    given = [event.given for event in analysis.log.events if isinstance(event, ParallelCall)]
    assert State.SHARDED in {value.state for value in given if isinstance(value, Tensor)}
    model = next(obj for cls, obj in analysis.built() if cls.name == "Model")
    scale, unused = model.attrs["scale"], model.attrs["unused"]
    assert isinstance(unused, Obj) and unused.delayed is not None
    leaves = [leaf for _, leaf in alternatives(scale)]
    assert leaves and all(isinstance(leaf, Obj) and leaf.delayed is None for leaf in leaves)

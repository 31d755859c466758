"""Logs as people report them: the form of each is that of a public report, shortened, every name and path another."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.diagnose.story import place_of, story_of
from onescience_check.checkers.diagnose.stream import read_logs

REPORTS = Path(__file__).parent / "reports"
# Kind, and the rank that the log shows to be the first, or to be the one that the others wait for.
EXPECTED: dict[str, tuple[str, int | None]] = {
    "all_reduce_timeout": ("timed-out", 0),
    "asked_with_a_signal": ("timed-out", 0),
    "asked_with_py_spy": ("timed-out", None),
    "attribute_of_wrapped": ("wrapped-attribute-missing", None),
    "bf16_and_float": ("dtype-mismatch", None),
    "circle_of_imports": ("circular-import", None),
    "coalesced": ("timed-out", 4),
    "collectives_differ": ("p2p-mismatch", 7),
    "data_ran_out": ("stop-iteration", 24),
    "dump_signal": ("timed-out", 1),
    "gated_width": ("widths-do-not-fit", 0),
    "heads_and_ranks": ("heads-not-divisible", None),
    "input_without_gradient": ("no-gradient", None),
    "killed_by_the_system": ("killed", 3),
    "memory_of_windows": ("out-of-memory", None),
    "mpirun_one_gpu": ("duplicate-gpu", 2),
    "new_watchdog": ("timed-out", 22),
    "no_gradient_to_send": ("no-gradient", 8),
    "old_watchdog": ("timed-out", 7),
    "pair_into_dropout": ("pair-as-tensor", None),
    "port_taken": ("port-in-use", None),
    "recorder_report": ("timed-out", 3),
    "spawned_gloo": ("timed-out", 3),
    "strided_send": ("not-contiguous", 0),
    "two_operations": ("timed-out", 7),
    "two_ranks_one_gpu": ("duplicate-gpu", None),
    "watchdog_stuck": ("timed-out", 5),
    "whole_and_share": ("checkpoint-load", 1),
    "wrapped_lines": ("timed-out", 14),
}

# Runs of ours on two GPUs with NCCL: the kind, and the rank that was first or that the other waited for.
GPU = Path(__file__).parent / "gpu"
ON_GPUS: dict[str, tuple[str, int | None]] = {
    "double_into_float": ("dtype-mismatch", 0),
    "ended_from_outside": ("interrupted", None),
    "memory_of_one_rank": ("out-of-memory", 1),
    "one_gpu_for_two": ("duplicate-gpu", 0),
    "one_rank_in_barrier": ("timed-out", 0),
}


@pytest.mark.parametrize("name", sorted(ON_GPUS))
def test_logs_of_gpus_are_told(name: str) -> None:
    story = story_of(read_logs([GPU / f"{name}.log"]))
    assert (story.kind.name, story.ranks[0]) == ON_GPUS[name]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_kind_and_the_rank_are_told(name: str) -> None:
    story = story_of(read_logs([REPORTS / f"{name}.log"]))
    assert (story.kind.name, story.ranks[0]) == EXPECTED[name]


def test_stacks_tell_where_each_rank_stands() -> None:
    story = story_of(read_logs([REPORTS / "asked_with_py_spy.log"]))
    assert [place_of(failure) for failure in story.failures] == ["all_reduce", "broadcast"]
    assert [failure.frames[-3].path for failure in story.failures] == [
        "fields/training/clip.py",
        "fields/data/batch.py",
    ]


def test_ranks_that_joined_tell_from_where() -> None:
    story = story_of(read_logs([REPORTS / "recorder_report.log"]))
    assert story.calls[0].operation == "all_reduce" and not story.calls[3].operation
    assert story.failures[0].frames[0].path == "/srv/run/src/fields/models/splat.py"


def test_dumps_of_a_flight_recorder_tell_who_did_not_come() -> None:
    """Dumps of torch 2.13 from a run of ours: rank 1 slept while rank 0 was in its second all-reduce."""
    story = story_of(read_logs([Path(__file__).parent / "recorder"]))
    assert (story.kind.name, story.behind) == ("timed-out", [1])
    assert (story.calls[0].operation, story.calls[0].number) == ("all_reduce", 2)
    assert story.failures[0].frames[0].path == "/srv/run/average.py"


def test_every_report_is_expected() -> None:
    assert {path.stem for path in REPORTS.iterdir()} == set(EXPECTED)

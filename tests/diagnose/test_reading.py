"""What is read out of a log, whoever wrote its lines and however they are mixed."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.diagnose.lines import read_line
from onescience_check.checkers.diagnose.record import Log
from onescience_check.checkers.diagnose.story import Story, story_of
from onescience_check.checkers.diagnose.stream import read_logs

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
  File "model/stage.py", line 30, in forward
    y = self.norm(self.proj(x))
                  ^^^^^^^^^^^^
TypeError: layer_norm(): argument 'input' (position 1) must be Tensor, not tuple
"""
LOST = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
  File "schedule.py", line 8, in recv_forward
    request.wait()
RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:5340
"""


def read(text: str | bytes) -> Log:
    data = text.encode() if isinstance(text, str) else text
    return read_logs([], io.BytesIO(data))


def told(text: str | bytes) -> Story:
    return story_of(read(text))


def marked(text: str, mark: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


@pytest.mark.parametrize(
    ("mark", "rank"),
    [
        ("[rank3]: ", 3),
        ("[default3]:[rank3]: ", 3),
        ("[default_role3]:", 3),
        ("[3]:", 3),
        ("3: ", 3),
        ("[1,3]<stderr>:", 3),
        ("(Worker pid=77, rank=3) ", 3),
        ("2026-01-02T03:04:05.678Z [rank3]: ", 3),
        ("node7: [rank3]: ", 3),
        ("\x1b[36m[rank3]:\x1b[0m ", 3),
        ("", None),
    ],
)
def test_marks_of_launchers_are_taken_off(mark: str, rank: int | None) -> None:
    (failure,) = read("\n".join(marked(TRACEBACK, mark))).failures
    assert failure.rank == rank
    assert failure.text.endswith("must be Tensor, not tuple")
    assert (failure.frames[-1].path, failure.frames[-1].line) == ("model/stage.py", 30)
    assert failure.frames[-1].marked == "self.proj(x)"


def test_a_line_without_marks_is_kept_whole() -> None:
    assert read_line(1, "shape [2, 3]: fine\n").text == "shape [2, 3]: fine"


def test_interleaved_ranks_are_put_together_again() -> None:
    streams = [marked(TRACEBACK if rank == 5 else LOST, f"[rank{rank}]: ") for rank in range(8)]
    chance, lines = random.Random(3), []
    while any(streams):
        stream = chance.choice([stream for stream in streams if stream])
        lines.append(stream.pop(0))
    story = told("\n".join(lines) + "\n")
    assert story.kind.name == "pair-as-tensor"
    assert story.ranks == [5]
    assert sorted(follower.rank for follower in story.followers) == [0, 1, 2, 3, 4, 6, 7]
    assert {follower.where for follower in story.followers} == {"recv_forward"}


def test_a_rich_traceback_is_read() -> None:
    text = """╭───────────────────── Traceback (most recent call last) ─────────────────────╮
│ /home/me/project/a/very/long/folder/with/a/long/name/train_the_model_in_sta │
│ ges.py:41 in main                                                           │
│                                                                             │
│   40 │   x = embed(x)                                                       │
│ ❱ 41 │   y = model(x)                                                       │
│   42 │   return y                                                           │
│                                                                             │
│ /home/me/project/stage.py:7 in forward                                      │
│                                                                             │
│ ❱ 7 │   return self.drop(self.proj(x))                                      │
╰─────────────────────────────────────────────────────────────────────────────╯
TypeError: dropout(): argument 'input' (position 1) must be Tensor, not tuple
"""
    (failure,) = read(text).failures
    assert [(f.path.rsplit("/", 1)[-1], f.line, f.function) for f in failure.frames] == [
        ("train_the_model_in_stages.py", 41, "main"),
        ("stage.py", 7, "forward"),
    ]
    assert failure.frames[1].code == "return self.drop(self.proj(x))"


def test_the_exception_that_was_being_handled_is_kept() -> None:
    text = (
        TRACEBACK + "\nDuring handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "train.py", line 15, in <module>\n    raise Stop("no")\nStop: no\n'
    )
    (failure,) = read(text).failures
    assert failure.before is not None and failure.before.type == "TypeError"


def test_a_message_of_several_lines_is_kept() -> None:
    text = (
        TRACEBACK.replace(
            "TypeError: layer_norm(): argument 'input' (position 1) must be Tensor, not tuple\n", ""
        )
        + "RuntimeError: Error(s) in loading state_dict for Stage:\n"
        '\tMissing key(s) in state_dict: "layer1.fc.weight". \n'
        "\tsize mismatch for layer1.fc.bias: copying a param with shape torch.Size([8]) from checkpoint, the shape in "
        "current model is torch.Size([4]).\n"
    )
    (failure,) = read(text).failures
    assert "layer1.fc.weight" in failure.message and "torch.Size([4])" in failure.message


def test_a_log_cut_in_the_middle_says_so() -> None:
    lines = TRACEBACK.splitlines()
    log = read("\n".join(lines[:4])[:-9])
    assert log.cut and log.failures[0].cut
    assert log.failures[0].frames


def test_watchdogs_name_the_rank_that_never_came() -> None:
    line = (
        "[rank{0}]:[E1130 10:00:00.5 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) "
        "ran for 600015 milliseconds before timing out."
    )
    story = told("world_size: 4\n" + "\n".join(line.format(rank) for rank in (0, 1, 3)) + "\n")
    assert story.kind.name == "timed-out"
    assert story.behind == [2]
    assert {follower.what for follower in story.followers} == {"ALLREDUCE 17"}


def test_the_summary_of_the_launcher_names_killed_ranks() -> None:
    text = """Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_08:44:25
  host      : node
  rank      : 6 (local_rank: 6)
  exitcode  : -9 (pid: 29111)
  error_file: <N/A>
"""
    story = told(text)
    assert (story.kind.name, story.ranks) == ("killed", [6])


def test_healthy_logs_show_no_failure() -> None:
    lines = [
        f"iteration {n}/100 | lm loss: {1 / (n + 1):.4f} | number of nan iterations: 0" for n in range(100)
    ]
    text = "[rank0]: NCCL WARN is not a warning here\n" + "\n".join(lines) + "\nUserWarning: slow path\n"
    assert told(text).kind.name == "none-seen"


def test_an_exception_that_stopped_nothing_is_no_failure() -> None:
    steps = "\n".join(f"iteration {n} loss 0.5" for n in range(20))
    story = told(TRACEBACK + steps + "\n")
    assert story.kind.name == "none-seen"
    assert len(story.recovered) == 1


@pytest.mark.parametrize("data", [b"", b"\n\n", bytes(range(256)) * 40, b"\x80\x05garbage", b"\xff\xfe\x00"])
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    assert told(data).kind.name == "none-seen"


def test_binary_files_are_named_as_such() -> None:
    assert read(bytes(range(16)) * 400).problems == ["binary"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_logs_are_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "log.packed").write_bytes(pack(TRACEBACK.encode()))
    assert story_of(read_logs([tmp_path / "log.packed"])).kind.name == "pair-as-tensor"
    (tmp_path / "cut").write_bytes(pack(TRACEBACK.encode() * 40)[:-30])
    assert read_logs([tmp_path / "cut"]).problems[0].startswith("unreadable")


def test_a_folder_without_logs_is_named(tmp_path: Path) -> None:
    assert read_logs([tmp_path]).names == [str(tmp_path)]


def dump(rank: int, number: int, operation: str = "all_reduce") -> dict[str, object]:
    frames = [{"name": "clip", "filename": "train.py", "line": 40}]
    entry = {
        "collective_seq_id": number, "profiling_name": f"nccl:{operation}", "state": "scheduled",
        "process_group": ("3", "tp"), "input_sizes": [[8]], "frames": frames,
    }  # fmt: skip
    return {"version": "2.4", "pg_config": {}, "rank": rank, "entries": [entry]}


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_flight_recorders_are_compared(tmp_path: Path, form: str) -> None:
    for rank in range(4):
        data = dump(rank, 8 if rank == 2 else 9)
        made = pickle.dumps(data) if form == "pickle" else json.dumps(data).encode()
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(made)
    story = story_of(read_logs([tmp_path]))
    assert story.kind.name == "timed-out"
    assert story.behind == [2]
    assert story.calls[0].frames[0].line == 40


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (open, ("/nowhere/evil", "w"))


def test_a_dump_that_would_run_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps({"entries": [Evil()]}))
    assert read_logs([tmp_path]).problems == ["dump"]


def test_folders_of_the_launcher_are_read_rank_by_rank(tmp_path: Path) -> None:
    for rank in range(3):
        folder = tmp_path / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(TRACEBACK if rank == 1 else LOST)
    story = story_of(read_logs([tmp_path]))
    assert (story.kind.name, story.ranks) == ("pair-as-tensor", [1])
    assert sorted(follower.rank for follower in story.followers) == [0, 2]


def test_long_logs_are_read_fast_and_in_little_memory(tmp_path: Path) -> None:
    block = "".join(
        f"[rank{n % 8}]: iteration {n} | loss 0.{n:06d} | grad norm 1.0\n" for n in range(20_000)
    ).encode()
    path = tmp_path / "long.log"
    with open(path, "wb") as file:
        for _ in range(24):
            file.write(block)
        file.write("\n".join(marked(TRACEBACK, "[rank4]: ")).encode())
    start = time.process_time()
    log = read_logs([path])
    spent = time.process_time() - start
    assert story_of(log).ranks == [4]
    # 60 s for 1 GB, and three times as long for a slow machine
    assert spent < 3 * 60 * path.stat().st_size / 1e9 + 1

"""Lines that say something by themselves: watchdogs, NCCL and gloo, launchers, losses that are no numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from .lines import Line, said_rank
from .record import Exit, Failure, Log, Note, Wait

_MOST = 2_000

_WATCHDOG = re.compile(
    r"Watchdog caught collective operation timeout: \w+\(SeqNum=(?P<number>\d+), OpType=(?P<operation>\w+)"
    r"(?:, (?:TensorShape=\[[^\]]*\]|NumelIn=(?P<size>\d+)))?.*?(?:Timeout\(ms\)=(?P<limit>\d+))?\)"
)
_GROUP = re.compile(r"\[PG (?:ID \d+ )?(?:PG )?(?:GUID )?(\S+?) ?(?:\(([^)]*)\))? Rank (\d+)\]")
_AT_WORK = re.compile(
    r"Rank (\d+)\] +(?:Exception \(either an error or timeout\) detected by watchdog at work"
    r"|failure detected by watchdog at work sequence id|Timeout at NCCL work): (\d+)"
)
_RAN = re.compile(r"ran for (\d+) milliseconds")
_GLOO_WAIT = re.compile(r"(?:Timed out waiting (\d+)ms for (recv|send) operation|Wait timeout)")
_NCCL = re.compile(r"(?:^|\s)(?:[\w.-]+:\d+:\d+ )?\[(\d+)\] (?:.*?)NCCL WARN (.*)")
_EXITCODE = re.compile(r"exitcode\s*:\s*(-?\d+)")
_FAILED_RANK = re.compile(r"^\s*rank\s*:\s*(\d+) \(local_rank: \d+\)")
_FAILED_TIME = re.compile(r"^\s*time\s*:\s*(\S+)")
_LOCAL = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")
_KILLED = re.compile(r"\b(?:was killed by|Signal \d+ \(|terminated (?:by|with) signal )\s*(SIG[A-Z]+|\d+)")
_OWN = re.compile(r"^error(?: \(rank (\d+)\))?: (.+)$")
_SILENT = re.compile(r"rank (\d+) \(.*?\) has not responded for ([\d.]+) s")
_LOSS = re.compile(r"\b\w*loss\w*\b['\"]?\s*[:=|]?\s*(?:tensor\()?(nan|-?inf)\b", re.I)
_NUMBERED = re.compile(r"\b(?:iteration|iter|step)[ :=]*(\d+)", re.I)
_WORLD = re.compile(r"\bworld[_ ]size[\"']?\s*[:=]\s*(\d+)", re.I)
_SIZES = re.compile(
    r"\b(tensor|pipeline)[_-](?:model[_-])?parallel[_-]size\b[\"']?[ .:=]+(\d+)|\b(tp|pp)(?:_size)?[ =]+(\d+)\b"
)
_NAMED = re.compile(
    r"^((?:\w+\.)*(?:\w*(?:Error|Exception)|StopIteration|KeyboardInterrupt)): (\S.*)$"
)  # an exception without its traceback
_PLAIN = (
    ("port", re.compile(r"EADDRINUSE|Address already in use")),
    ("duplicate-gpu", re.compile(r"Duplicate GPU detected")),
    ("killed", re.compile(r"^Killed$|Signal 9 \(SIGKILL\)|oom-kill|Out of memory: Killed process")),
    ("segfault", re.compile(r"Segmentation fault|Signal 11 \(SIGSEGV\)")),
    ("memory", re.compile(r"CUDA out of memory|HIP out of memory|OutOfMemoryError")),
    ("desync", re.compile(r"[Dd]etected mismatch between collectives|collective.{0,40}desync|Desync debug|"
                          r"\[Rank \d+\].{0,80}joined but didn't join|not joined|hasn't reached the collective")),
    ("heartbeat", re.compile(r"heartbeat monitor timed out|ProcessGroupNCCL's watchdog got stuck", re.I)),
    ("dump", re.compile(r"Received a dump signal due to a collective timeout")),
    ("assert", re.compile(r"device-side assert|Assertion `.*` failed")),
    ("store", re.compile(r"(?:recvValue|sendBytes|TCPStore).{0,80}(?:failed|timed? ?out|closed)")),
    ("gloo", re.compile(r"Connection closed by peer|Connection reset by peer|Broken pipe")),
    ("hang-guess", re.compile(r"monitoredBarrier|Ranks .{0,80} failed to pass")),
)  # fmt: skip


def read_single(line: Line, log: Log) -> None:
    """Note what a line says that belongs to no traceback."""
    if not line.text.strip():
        return
    line = _joined(line, log)
    text = line.text
    rank = line.rank if line.rank is not None else said_rank(text)
    if _wait(line, rank, log) or _launcher(line, log):
        return
    own = _OWN.match(text)
    if own:
        who = int(own[1]) if own[1] else rank
        _add_failure(log, Failure(who, line.number, line.number, line.time, "UserError", own[2]))
        return
    silent = _SILENT.search(text)
    if silent:
        _add(log, Note(int(silent[1]), line.number, "silent", text.strip(), line.time))
        return
    loss = _LOSS.search(text)
    if loss:
        _add(log, Note(rank, line.number, "loss", text.strip()[:300], line.time))
        return
    warned = _NCCL.search(text)
    if warned:
        what = "duplicate-gpu" if "Duplicate GPU" in text else "nccl"
        _add(log, Note(rank, line.number, what, warned[2].strip()[:300], line.time))
        return
    for size in _SIZES.finditer(text):
        axis = size[1] or {"tp": "tensor", "pp": "pipeline"}[size[3]]
        log.sizes.setdefault(axis, int(size[2] or size[4]))
    world = _WORLD.search(text)
    if world:
        log.world = int(world[1])
    named = _NAMED.match(text)
    if named and not text.startswith("torch.distributed.elastic"):
        kind = named[1].rsplit(".", 1)[-1]
        _add_failure(log, Failure(rank, line.number, line.number, line.time, kind, named[2].strip()))
        return
    for what, pattern in _PLAIN:
        if pattern.search(text):
            _add(log, Note(rank, line.number, what, text.strip()[:300], line.time))
            return


def _joined(line: Line, log: Log) -> Line:
    """A watchdog's line that was broken behind `timeout:` is one line."""
    if line.text.rstrip().endswith("collective operation timeout:"):
        log.broken = line
    elif log.broken is not None and line.text.lstrip().startswith("WorkNCCL("):
        line, log.broken = replace(log.broken, text=f"{log.broken.text.rstrip()} {line.text.lstrip()}"), None
    return line


def _wait(line: Line, rank: int | None, log: Log) -> bool:
    found, group = _WATCHDOG.search(line.text), _GROUP.search(line.text)
    name = (group[2] or group[1]) if group else ""
    if not found:
        at_work = _AT_WORK.search(line.text)
        if at_work:
            _at_work(line, int(at_work[1]) if line.rank is None else line.rank, int(at_work[2]), name, log)
        return at_work is not None
    ran = _RAN.search(line.text)
    limit = int(ran[1]) if ran else int(found["limit"] or 0)
    size = int(found["size"]) if found["size"] else None
    own = re.search(r"\[Rank (\d+)\] Watchdog", line.text)
    rank = int(own[1]) if own and line.rank is None else rank
    wait = Wait(rank, line.number, found["operation"], int(found["number"]), name, size, limit / 1000)
    if len(log.waits) < _MOST and not any(
        (old.rank, old.number) == (rank, wait.number) and (not name or old.group in ("", name))
        for old in log.waits[-64:]
    ):
        log.waits.append(wait)
    return True


def _at_work(line: Line, rank: int, number: int, name: str, log: Log) -> None:
    """The line after a watchdog's: it names the group, and tells of the wait where the first line is missing."""
    for place, old in enumerate(log.waits):
        if old.rank == rank and old.number == number:
            log.waits[place] = old if old.group else replace(old, group=name)
            return
    if not any(old.rank == rank for old in log.waits) and len(log.waits) < _MOST:
        operation = next((old.operation for old in log.waits if old.number == number), "")
        log.waits.append(Wait(rank, line.number, operation, number, name))


def _launcher(line: Line, log: Log) -> bool:
    """torchelastic's lines: `local_rank: 1 failed`, and its summary in several lines."""
    local, code = _LOCAL.search(line.text), _EXITCODE.search(line.text)
    if local:
        log.exits.append(Exit(int(local[2]), line.number, int(local[1]), line.time))
        return True
    rank, time = _FAILED_RANK.match(line.text), _FAILED_TIME.match(line.text)
    if rank or time:
        if rank:
            log.ranks.add(int(rank[1]))
        log.summary["rank" if rank else "time"] = (rank or time or [""])[1]
        return True
    if code and "rank" in log.summary:
        log.exits.append(
            Exit(
                int(log.summary["rank"]),
                line.number,
                int(code[1]),
                log.summary.get("time", ""),
                "first" in log.summary,
            )
        )
        for key in ("rank", "time", "first"):
            log.summary.pop(key, None)
        return True
    if "first observed failure" in line.text:
        log.summary["first"] = "yes"
        return True
    return False


def _add(log: Log, note: Note) -> None:
    if len(log.notes) < _MOST:
        log.notes.append(note)


def _add_failure(log: Log, failure: Failure) -> None:
    failure.progress = log.progress
    if len(log.failures) < _MOST:
        log.failures.append(failure)

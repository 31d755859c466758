"""Put the lines of interleaved ranks together again: tracebacks, plain and rich, and lines that stand alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from .lines import Line, said_rank
from .record import Failure, Frame, Log
from .single_lines import read_single
from .stacks import Stacks

_KEPT = 24  # failures of one stream: the first half and the last half are kept
_MOST_STREAMS = 4096
_MOST_FRAMES = 200
_MOST_TEXT = 30  # lines of one message
_OPEN_LINES = 20_000  # lines of other streams after which an unfinished traceback is given up

_START = re.compile(r"Traceback \(most recent call last\):?\s*$")
_RICH = re.compile(r"^\s*[╭┌+][─-]+.*Traceback.*[─-]+[╮┐+]\s*$")
_OWN_MARK = re.compile(r"(.{1,120}?)(?:Traceback \(most recent call last\)|[╭┌][─-]+.*Traceback)")
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+)(?:, in (.+))?\s*$')
_RICH_FRAME = re.compile(r"^(?P<path>\S.*?):(?P<line>\d+) in (?P<function>.+?)\s*$")
_RICH_CODE = re.compile(r"^[❱>]?\s*(\d+)\s*[│|]\s?(.*)$")
_EXCEPTION = re.compile(r"^((?:[A-Za-z_][\w]*\.)*[A-Za-z_]\w*(?: \[[^\]]*\])?)(?::(?:\s(.*))?)?$")
_SPAWNED = re.compile(r"-- Process (\d+) terminated")
_CHAINS = ("During handling of the above exception", "The above exception was the direct cause")
_ENDING = (
    "Error",
    "Exception",
    "Interrupt",
    "Iteration",
    "Exit",
    "Warning",
    "Failure",
    "Fault",
    "Timeout",
    "Invalid",
)


@dataclass
class _Open:
    """A traceback that is still being read."""

    failure: Failure
    rich: bool = False
    said: int = 0  # lines of the message; 0 while frames are read
    path: str = ""  # a rich path that goes on in the next line
    pending: Frame | None = None
    indent: int = 0


@dataclass
class Reader:
    """Takes lines one by one. `open` is true while some stream is in the middle of a traceback."""

    log: Log
    streams: dict[str, _Open] = field(default_factory=dict)
    ended: dict[str, Failure] = field(default_factory=dict)
    chain: dict[str, Failure] = field(default_factory=dict)
    kept: Counter[str] = field(default_factory=Counter)
    marks: list[re.Pattern[str]] = field(default_factory=list)  # what this log writes before its lines

    stacks: Stacks = field(init=False)

    def __post_init__(self) -> None:
        self.stacks = Stacks(self.log)

    @property
    def open(self) -> bool:
        return bool(self.streams) or self.stacks.open

    def begin(self, rank: int | None) -> None:
        """A new file begins: what was open in the one before stays unfinished."""
        self._give_up(-1)

    def finish(self) -> None:
        for opened in list(self.streams.values()):
            opened.failure.cut = not opened.said
        self._give_up(-1)
        self.stacks.finish()
        for stream in list(self.ended):
            self._release(stream)

    def take(self, line: Line) -> bool:
        """One line, in the order of the log; whether it belongs to a traceback."""
        line = self._without_mark(line)
        opened = self.streams.get(line.key)
        if opened is None and self.stacks.take(line):
            return True
        if _FRAME.match(line.text) and opened is None:
            self._start(line, rich=False)  # a traceback whose first line is missing
            opened = self.streams.get(line.key)
        elif _START.search(line.text) and not line.text.startswith(("│", "|")):
            self._start(line, rich=False)
            return True
        if _RICH.match(line.text):
            self._start(line, rich=True)
            return True
        if opened is not None:
            going = self._rich_line(opened, line) if opened.rich else self._line(opened, line)
            if going:
                opened.failure.end = line.number
                return True
            self._close(line.key)
        if line.text.startswith(_CHAINS):
            last = self.ended.pop(line.key, None)
            if last is not None:
                self.chain[line.key] = last
            return True
        read_single(line, self.log)
        if len(self.streams) > 0 and line.number % 1024 == 0:
            self._give_up(line.number)
        return False

    def _without_mark(self, line: Line) -> Line:
        """Logs have marks of their own: what stands before the first line of a traceback is taken off the others."""
        for mark in self.marks:
            found = mark.match(line.text)
            if found:
                return replace(line, text=line.text[found.end() :])
        found = None if _RICH.match(line.text) else _OWN_MARK.match(line.text)
        if found and len(self.marks) < 8:
            self.marks.append(re.compile(re.sub(r"\d+", r"\\d+", re.escape(found[1]))))
            return replace(
                line,
                text=line.text[found.end(1) :],
                rank=said_rank(found[1]) if line.rank is None else line.rank,
            )
        return line

    # -- tracebacks -------------------------------------------------------------------------------------------

    def _start(self, line: Line, rich: bool) -> None:
        if line.key in self.streams:
            self._close(line.key)
        rank = line.rank if line.rank is not None else said_rank(line.text)
        spawned = _SPAWNED.match(self.ended[line.key].message) if line.key in self.ended else None
        rank = int(spawned[1]) if spawned and rank is None else rank
        failure = Failure(rank, line.number, line.number, line.time, progress=self.log.progress)
        self._settle(line.key)
        failure.before = self.chain.pop(line.key, None)
        if len(self.streams) < _MOST_STREAMS:
            self.streams[line.key] = _Open(failure, rich)

    def _settle(self, key: str) -> None:
        """A failure that nothing chained on to is final."""
        if key in self.ended:
            self._release(key)

    def _line(self, opened: _Open, line: Line) -> bool:
        """Whether a line belongs to the open traceback."""
        failure, text = opened.failure, line.text
        if opened.said:
            return self._message_line(opened, text)
        frame = _FRAME.match(text)
        if frame:
            self._flush(opened)
            opened.pending = Frame(frame[1], int(frame[2]), (frame[3] or "").strip())
            opened.indent = len(text) - len(text.lstrip())
            return True
        if text[:1] in (" ", "\t") or not text.strip():
            self._source_line(opened, text)
            return True
        said = _EXCEPTION.match(text)
        if said and (failure.frames or opened.pending) and _is_exception(said[1], said[2]):
            self._flush(opened)
            failure.type, failure.message = said[1].rsplit(".", 1)[-1], (said[2] or "").strip()
            opened.said = 1
            return True
        # In a log that does not say who writes, another process may have written in between.
        return line.key == "" and bool(failure.frames or opened.pending)

    def _message_line(self, opened: _Open, text: str) -> bool:
        """A message goes on in lines that are set in, or that speak of tensors and keys."""
        failure = opened.failure
        goes_on = text[:1] in (" ", "\t") or (not failure.message and bool(text.strip()))
        goes_on |= text.startswith(
            (
                "Exception raised from",
                "frame #",
                "Last error:",
                "ncclUnhandled",
                "ncclInternal",
                "ncclSystem",
                "ncclInvalid",
                "ncclRemote",
                "Duplicate GPU",
                "Error: ",
                "Failures:",
            )
        )
        goes_on |= not failure.message and opened.said < 4  # a message that begins with an empty line
        if not goes_on or opened.said > _MOST_TEXT * 4:
            return False
        opened.said += 1
        if opened.said <= _MOST_TEXT and not text.startswith("frame #"):
            failure.message = f"{failure.message}\n{text.strip()}".strip()
        return True

    def _source_line(self, opened: _Open, text: str) -> None:
        pending = opened.pending
        if pending is None or not text.strip():
            return
        stripped = text.strip()
        if not stripped.strip("^~ "):
            start = len(text) - len(text.lstrip()) - opened.indent - 2
            opened.pending = Frame(
                pending.path, pending.line, pending.function, pending.code,
                pending.code[max(start, 0) : max(start, 0) + len(stripped)],
            )  # fmt: skip
        elif not pending.code:
            opened.pending = Frame(pending.path, pending.line, pending.function, stripped)

    def _rich_line(self, opened: _Open, line: Line) -> bool:
        failure, text = opened.failure, line.text.strip()
        if opened.said:
            return self._message_line(opened, line.text)
        if text[:1] in ("╰", "└", "+"):
            self._flush(opened)
            return True
        if text[:1] in ("│", "|"):
            self._rich_inside(opened, text[1:].rstrip("│| ").strip())
            return True
        said = _EXCEPTION.match(text)
        if said and _is_exception(said[1], said[2]):
            self._flush(opened)
            failure.type, failure.message = said[1].rsplit(".", 1)[-1], (said[2] or "").strip()
            opened.said = 1
            return True
        return not text

    def _rich_inside(self, opened: _Open, text: str) -> None:
        code = _RICH_CODE.match(text)
        if code and opened.pending is not None:
            pending = opened.pending
            if int(code[1]) == pending.line and not pending.code:
                opened.pending = Frame(pending.path, pending.line, pending.function, code[2].strip())
            return
        frame = _RICH_FRAME.match(opened.path + text)
        if frame:
            self._flush(opened)
            opened.pending = Frame(frame["path"], int(frame["line"]), frame["function"])
            opened.path = ""
        elif re.match(r"[/~.]|[A-Za-z]:\\", text) or opened.path:
            opened.path = (opened.path + text)[:1000]
        elif not text:
            opened.path = ""

    def _flush(self, opened: _Open) -> None:
        frames = opened.failure.frames
        if opened.pending is not None:
            if len(frames) >= _MOST_FRAMES:
                del frames[_MOST_FRAMES // 2]
            frames.append(opened.pending)
            opened.pending = None

    def _close(self, key: str) -> None:
        opened = self.streams.pop(key)
        self._flush(opened)
        failure = opened.failure
        failure.cut = failure.cut or not opened.said
        if failure.frames or failure.type:
            if failure.before is not None and failure.before.rank is None:
                failure.before.rank = failure.rank
            self.ended[key] = failure

    def _release(self, key: str) -> None:
        failure = self.ended.pop(key)
        self.kept[key] += 1
        if failure.rank is not None:
            self.log.ranks.add(failure.rank)
        if self.kept[key] > _KEPT:
            own = [other for other in self.log.failures if other.rank == failure.rank]
            if len(own) > _KEPT // 2:
                self.log.failures.remove(own[_KEPT // 2])
                self.log.dropped += 1
        self.log.failures.append(failure)

    def _give_up(self, number: int) -> None:
        """Close what has not been continued for long."""
        for key, opened in list(self.streams.items()):
            if number < 0 or number - opened.failure.end > _OPEN_LINES:
                self._close(key)


def _is_exception(name: str, message: str | None) -> bool:
    """Whether a line at the left margin ends a traceback."""
    last = name.rsplit(".", 1)[-1]
    if last.endswith(_ENDING):
        return True
    return message is not None and last[:1].isupper() and not last.isupper() and len(last) > 3

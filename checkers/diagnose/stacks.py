"""Answers of processes that stand still: stacks of faulthandler and py-spy, the report of torch's flight recorder."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .lines import Line
from .record import Call, Failure, Frame, Log

_MOST = 2_000
_OPEN_LINES = 2_000  # lines of other streams after which a stack is whole
_FAULTHANDLER = re.compile(
    r"(?:(?:Current thread|Thread) 0x[0-9a-fA-F]+.*|Stack) \(most recent call first\):\s*$"
)
_PY_SPY = re.compile(r'Thread (?:0x)?[0-9a-fA-F]+ \((?:idle|active)[^)]*\): "MainThread"|'
                     r"Thread (?:0x)?[0-9a-fA-F]+ \((?:idle|active)[^)]*\)\s*$")  # fmt: skip
_FAULT_FRAME = re.compile(r'^ *File "(.+?)", line (\d+) in (\S+)')
_SPY_FRAME = re.compile(r"^ {3,}(\S.*?) \(([^()]+?):(\d+)\)\s*$")
_REPORT = re.compile(r"^(?:Not all ranks joining collective|Collective).*sequence number: (\d+)")
_REPORT_FRAME = re.compile(r"^\s*(\S+) at (\S+?):(\d+)\s*$")
_HELPERS = ("threading.py", "selectors.py")  # the outermost file of a thread that is not the main one


@dataclass
class _Report:
    """One collective that not all ranks joined, as the tool tells of it in lines `name: value`."""

    number: int
    line: int
    said: dict[str, str] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)


@dataclass
class Stacks:
    """Takes lines that belong to such an answer. `open` is true while one is being read."""

    log: Log
    stacks: dict[str, Failure] = field(default_factory=dict)  # by stream: lines of ranks are mixed
    report: _Report | None = None

    @property
    def open(self) -> bool:
        return bool(self.stacks) or self.report is not None

    def take(self, line: Line) -> bool:
        """Whether a line belongs to a stack or report."""
        if self.report is not None and self._told(self.report, line.text):
            return True
        stack = self.stacks.get(line.key)
        if stack is not None and self._frame(stack, line):
            return True
        for key, other in list(self.stacks.items()):
            if other is stack or line.number - other.end > _OPEN_LINES:
                self._end_stack(key)
        if _FAULTHANDLER.match(line.text) or _PY_SPY.match(line.text):
            self.stacks[line.key] = Failure(line.rank, line.number, line.number, line.time, "Stack")
            return True
        begun = _REPORT.match(line.text)
        if begun:
            self._end_report()
            self.report = _Report(int(begun[1]), line.number)
        return begun is not None

    def finish(self) -> None:
        for key in list(self.stacks):
            self._end_stack(key)
        self._end_report()

    def _frame(self, stack: Failure, line: Line) -> bool:
        fault, spy = _FAULT_FRAME.match(line.text), _SPY_FRAME.match(line.text)
        if fault:
            stack.frames.append(Frame(fault[1], int(fault[2]), fault[3]))
        elif spy:
            stack.frames.append(Frame(spy[2], int(spy[3]), spy[1]))
        stack.end = line.number
        return bool(fault or spy)

    def _end_stack(self, key: str) -> None:
        stack = self.stacks.pop(key)
        if not stack.frames or stack.frames[-1].path.endswith(_HELPERS):
            return
        stack.frames.reverse()
        stack.message = "asked where it stands"
        if stack.rank is not None:
            self.log.ranks.add(stack.rank)
        if len(self.log.stacks) < _MOST:
            self.log.stacks.append(stack)

    def _told(self, report: _Report, text: str) -> bool:
        name, colon, value = text.partition(": ")
        frame = _REPORT_FRAME.match(text)
        if frame:
            report.frames.append(Frame(frame[2], int(frame[3]), frame[1]))
        elif colon and re.fullmatch(r"[a-z ]+", name):
            report.said[name] = value.strip()
        elif text.rstrip() != "collective stack trace:":
            self._end_report()
            return False
        return True

    def _end_report(self) -> None:
        """Ranks that are missing are one call behind those that joined."""
        report, self.report = self.report, None
        if report is None:
            return
        missing = set(re.findall(r"\d+", report.said.get("missing ranks", "")))
        expected = set(re.findall(r"\d+", report.said.get("expected ranks", ""))) | missing
        group = report.said.get("group info", "").rpartition(":")[2]
        operation = report.said.get("collective", "").rpartition(":")[2]
        for rank in sorted(expected, key=int)[:_MOST]:
            joined = rank not in missing
            self.log.calls.append(
                Call(
                    int(rank), group, report.number - (not joined), operation if joined else "",
                    report.said.get("collective state", "") if joined else "", "",
                    tuple(report.frames) if joined else (),
                )
            )  # fmt: skip
            self.log.ranks.add(int(rank))

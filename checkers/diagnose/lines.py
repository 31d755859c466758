"""One line of a log: the marks that launchers put before it taken off, the rank that wrote it found."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 8_000  # characters kept of a line

_COLOURS = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_RANK_MARKS = (
    re.compile(r"\[default_?(?:role)?(\d+)\]:"),  # torchrun --tee
    re.compile(r"\[rank ?:? ?(\d+)\]:? ?", re.I),  # torch's own exception hook
    re.compile(r"\[(\d{1,5})\]:(?=.)"),  # torchrun of other versions
    re.compile(r"\[\d+,(\d+)\]<(?:stdout|stderr)>: ?"),  # mpirun --tag-output
    re.compile(r"\([A-Za-z_.]\w* (?:.*?\brank=(\d+).*?|pid=\d+[^)]*)\) "),  # ray
    re.compile(r"(\d{1,5}): "),  # srun --label
    re.compile(r"\[[\w.-]*?rank[_ -]?(\d+)[\w.-]*\] ?", re.I),
)
_OTHER_MARKS = (
    re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?:? "),
    re.compile(r"\[\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?\] "),
    re.compile(r"[\w.-]+ \[std(?:out|err)\] "),  # benchmark runners: the machine's name and the stream
    re.compile(r"\[?[IWEF]\d{3,4} \d\d:\d\d:\d\d(?:\.\d+)? (?:\d+ )?[\w./-]+:\d+\] ?"),  # glog
    re.compile(r"(?:ERROR|CRITICAL|WARNING|INFO)(?::[\w.]+)?: (?=Traceback|Uncaught)"),
    re.compile(
        r"(?!\w*(?:Error|Exception|Iteration): )[\w.-]+: (?=\[rank|\[default| {2,}File \"|Traceback \()"
    ),  # pdsh: the machine's name
)
_MARK_STARTS = re.compile(r"[\[(\dA-Z]|[\w.-]+(?:: | \[std)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)?[T _]?(\d\d:\d\d:\d\d(?:[.,]\d+)?)")
_SAID = re.compile(r"\b(?:error \()?rank[ =:]{0,2}(\d+)\b", re.I)


@dataclass(frozen=True)
class Line:
    """The text behind the marks. `key` tells the streams apart that one log interleaves."""

    number: int
    text: str
    rank: int | None
    key: str
    time: str


def plain(text: str) -> str:
    """Without colours and what a progress bar overwrote."""
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    text = text.rstrip("\r\n")
    if "\r" in text:
        text = text.rsplit("\r", 1)[1]
    return text[:LONGEST]


def read_line(number: int, raw: str, default: int | None = None) -> Line:
    """Take the marks off. `default` is the rank of the whole file, where its name says it."""
    text, rank, time = plain(raw), default, ""
    if not _MARK_STARTS.match(text):
        return Line(number, text, rank, f"rank {rank}" if rank is not None else "", "")
    marks: list[str] = []
    for _ in range(6):
        rest = text
        if not _MARK_STARTS.match(text):
            break
        for pattern in _RANK_MARKS:
            found = pattern.match(text)
            if found:
                marks.append(found[0])
                rank = int(found[1]) if found[1] is not None else rank
                text = text[found.end() :]
                break
        else:
            for pattern in _OTHER_MARKS:
                found = pattern.match(text)
                if found:
                    time = time or _clock(found[0])
                    text = text[found.end() :]
                    break
        if text == rest:
            break
    key = f"rank {rank}" if rank is not None else "".join(marks)
    return Line(number, text, rank, key, time)


def _clock(text: str) -> str:
    found = _TIME.search(text)
    return found[2].replace(",", ".") if found else ""


def said_rank(text: str) -> int | None:
    """The rank that a message names in words."""
    found = _SAID.search(text)
    return int(found[1]) if found else None

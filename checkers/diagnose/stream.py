"""Read logs of any size: whole blocks in which nothing speaks of a failure are passed over unsplit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from .dumps import is_dump, read_dump
from .lines import read_line
from .reader import Reader
from .record import Log

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 16
# One of these stands in every line that matters. All of them are looked for in whole blocks, which is fast.
_WORDS = (
    b"Traceback", b'  File "', b"Error: ", b"error (rank", b"Exception", b"StopIteration", b"NCCL WARN", b"atchdog",
    b"already in use", b"EADDRINUSE", b"Duplicate GPU", b"SIG", b"Killed", b"oom-kill", b"egmentation", b"of memory",
    b"mismatch between", b"esync", b"eartbeat", b"ssert", b"TCPStore", b"by peer", b"roken pipe", b"arrier",
    b"exitcode", b"(local_rank", b"time      :", b"observed failure", b"responded for", b"\nerror: ",
    b"During handling", b"direct cause", b"WorkNCCL(", b"dump signal", b"sequence number: ", b"Timeout at NCCL",
    b"recent call first", b"MainThread",
)  # fmt: skip
_ONCE = (b"parallel_size", b"parallel-size", b"world_size", b"world size")  # said at the start
_EARLY = 64 << 20
_NO_NUMBER = re.compile(rb"loss\w*['\"]?\s*[:=|]?\s*(?:tensor\()?(?:nan|-?inf)\b", re.I)
_PROGRESS = (b"iteration ", b"step ", b"Step ", b"Iteration ", b"epoch ", b"Epoch ")
_MOST_TAKEN = 300_000  # lines read in detail; of what follows, only the end
_END = 8  # blocks
_RANK_IN_NAME = re.compile(r"(?:rank|worker|proc)[_-]?(\d+)\D*$", re.I)
_RANK_FOLDER = re.compile(r"^\d+$")


def read_logs(paths: list[Path], standard_input: BinaryIO | None = None) -> Log:
    """Everything the files say; a folder stands for the files below it, as `torchrun --log-dir` leaves them."""
    log = Log()
    reader = Reader(log)
    if standard_input is not None:
        log.names.append("-")
        _Stream(reader, None, log).read(standard_input)
    for path in paths:
        for file in sorted(_files(path)):
            log.names.append(str(file))
            try:
                with _opened(file) as stream:
                    head = stream.peek(4096)
                    if is_dump(file, head):
                        read_dump(file, stream, log)
                    else:
                        _Stream(reader, _rank_of(file, path), log).read(stream)
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                error = error if isinstance(error, OSError) else OSError(str(error))
                log.problems.append(f"unreadable {file}: {(error.strerror or str(error)).lower()}")
    log.names = log.names or [str(path) for path in paths]
    reader.finish()
    return log


def _opened(file: Path) -> BufferedReader:
    """A file to read, unpacked where it is packed; what is packed otherwise is read as binary."""
    with open(file, "rb") as stream:
        start = stream.read(6)
    if start[:2] == b"\x1f\x8b":
        return BufferedReader(gzip.open(file, "rb"))
    if start[:3] == b"BZh":
        return BufferedReader(bz2.open(file, "rb"))
    if start == b"\xfd7zXZ\0":
        return BufferedReader(lzma.open(file, "rb"))
    return open(file, "rb")


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for found in path.rglob("*"):
        if found.is_file() and not found.name.startswith(".") and found.name != "error.json":
            yield found


def _rank_of(file: Path, given: Path) -> int | None:
    """The rank whose file this is: `…/3/stderr.log` of torchrun, `train_rank3.log`."""
    found = _RANK_IN_NAME.search(file.stem)
    if found:
        return int(found[1])
    if file != given and _RANK_FOLDER.match(file.parent.name):
        return int(file.parent.name)
    return None


@dataclass
class _Stream:
    """One file while it is read."""

    reader: Reader
    rank: int | None
    log: Log
    taken: int = 0
    end: deque[bytes] = field(default_factory=lambda: deque(maxlen=_END))

    def read(self, stream: BinaryIO) -> None:
        """All of it, block by block; blocks end with whole lines."""
        self.reader.begin(self.rank)
        rest, decoding, first = b"", "", True
        while block := stream.read(_BLOCK):
            self.log.bytes += len(block)
            if first:
                first, decoding = False, _encoding(block)
                if decoding == "binary":
                    self.log.problems.append("binary")
                    return
            if decoding:
                block = block.decode(decoding, "replace").encode("utf-8", "replace")
            block = rest + block
            cut = block.rfind(b"\n") + 1
            if not cut and len(block) <= _LONGEST_LINE:
                rest = block
                continue
            cut = cut or len(block)  # a line without end is cut
            rest = block[cut:]
            self._block(block[:cut])
        if rest:
            self._block(rest)
            self.log.cut = True
        for block in self.end:
            self._take(block)

    def _block(self, block: bytes) -> None:
        if self.taken > _MOST_TAKEN:
            if len(self.end) == _END:
                self._count(self.end[0])
                if "flood" not in self.log.problems:
                    self.log.problems.append("flood")
            self.end.append(block)
        else:
            self._take(block)

    def _count(self, block: bytes) -> None:
        self.log.lines += block.count(b"\n")
        self.log.progress += sum(block.count(word) for word in _PROGRESS)

    def _take(self, block: bytes) -> None:
        """Hand the lines that matter to the reader, and all lines while a traceback is open."""
        if b"\r\n" in block:
            block = block.replace(b"\r\n", b"\n")
        marks = _marks(block, self.log.bytes < _EARLY)
        at, counted = 0, 0
        while at < len(block):
            if not self.reader.open:
                start = next((mark for mark in marks if mark >= at), None)
                if start is None:
                    break
                while marks and marks[0] < start:
                    marks.popleft()
                self._count(block[counted:start])
                at = counted = start
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            self._line(block[at:end])
            at = counted = end + 1
        self._count(block[counted:])

    def _line(self, raw: bytes) -> None:
        self.log.lines += 1
        self.taken += 1
        text = raw[:_LONGEST_LINE].decode("utf-8", "replace")
        line = read_line(self.log.lines, text, self.rank)
        if line.rank is not None:
            self.log.ranks.add(line.rank)
        if not self.reader.take(line):
            self.log.progress += sum(word in raw for word in _PROGRESS)


def _marks(block: bytes, early: bool) -> deque[int]:
    """The starts of the lines that hold one of the words."""
    found: set[int] = set()
    for word in (*_WORDS, *(_ONCE if early else ())):
        at = block.find(word)
        while at >= 0:
            start = block.rfind(b"\n", 0, at + 1) + 1
            found.add(start)
            end = block.find(b"\n", max(at, start))
            at = block.find(word, end) if end >= 0 else -1
    if b"nan" in block or b"NaN" in block or b"inf" in block:
        found.update(block.rfind(b"\n", 0, hit.start()) + 1 for hit in _NO_NUMBER.finditer(block))
    return deque(sorted(found))


def _encoding(block: bytes) -> str:
    """What the bytes must be decoded from; "" for UTF-8 and what is near it, "binary" for no text."""
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    odd = sum(block[:4096].count(bytes([code])) for code in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16))
    strange = block[:4096].decode("utf-8", "replace").count("\ufffd")
    return "binary" if odd * 20 > len(block[:4096]) or strange * 8 > len(block[:4096]) else ""

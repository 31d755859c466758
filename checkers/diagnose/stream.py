"""Read logs of any size: whole blocks in which nothing speaks of a failure are passed over unsplit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .dumps import is_dump, read_dump
from .lines import read_line
from .reader import Reader
from .record import Log

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 16
_WORDS = (
    b"rror", b"Traceback", b"NCCL WARN", b"atchdog", b"imed out", b"imeout", b"exitcode", b"exit code",
    b"xception", b"Killed", b"SIG", b"Signal", b"egmentation", b"FAILED", b"StopIteration", b"nterrupt", b"GPU",
    b"first observed", b"out of memory", b": nan", b"=nan", b": NaN", b" nan ", b"ssertion",
    b"parallel_size", b"parallel-size", b"world_size", b"world size", b"(local_rank", b"time      :",
)  # fmt: skip
_WORD = re.compile(b"|".join(re.escape(word) for word in _WORDS))
_PROGRESS = (b"iteration ", b"step ", b"Step ", b"Iteration ", b"epoch ", b"Epoch ")
_RANK_IN_NAME = re.compile(r"(?:rank|worker|proc)[_-]?(\d+)\D*$", re.I)
_RANK_FOLDER = re.compile(r"^\d+$")


def read_logs(paths: list[Path], standard_input: BinaryIO | None = None) -> Log:
    """Everything the files say; a folder stands for the files below it, as `torchrun --log-dir` leaves them."""
    log = Log()
    reader = Reader(log)
    if standard_input is not None:
        log.names.append("-")
        _read(standard_input, reader, None, log)
    for path in paths:
        for file in sorted(_files(path)):
            log.names.append(str(file))
            try:
                with open(file, "rb") as stream:
                    head = stream.peek(4096)
                    if is_dump(file, head):
                        read_dump(file, stream, log)
                    else:
                        _read(stream, reader, _rank_of(file, path), log)
            except OSError as error:
                log.problems.append(f"unreadable {file}: {(error.strerror or str(error)).lower()}")
    reader.finish()
    return log


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


def _read(stream: BinaryIO, reader: Reader, rank: int | None, log: Log) -> None:
    reader.begin(rank)
    rest, odd, decoding = b"", 0, ""
    while block := stream.read(_BLOCK):
        if not log.bytes and (block[:2] in (b"\xff\xfe", b"\xfe\xff")):
            decoding = "utf-16-le" if block[:2] == b"\xff\xfe" else "utf-16-be"
            block = block[2:]
        log.bytes += len(block)
        if decoding:
            block = block.decode(decoding, "replace").encode("utf-8", "replace")
        elif log.bytes <= _BLOCK:
            odd = sum(block[:4096].count(bytes([code])) for code in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16))
            if odd * 20 > len(block[:4096]):
                log.problems.append("binary")
                return
        block = rest + block
        cut = block.rfind(b"\n") + 1
        if not cut:
            if len(block) <= _LONGEST_LINE:
                rest = block
                continue
            block += b"\n"  # a line without end: what follows is read as the next one
            cut = len(block)
        block, rest = block[:cut], block[cut:]
        _pass(block, reader, rank, log)
    if rest:
        _pass(rest, reader, rank, log)
        log.cut = True


def _pass(block: bytes, reader: Reader, rank: int | None, log: Log) -> None:
    """Hand the lines of a block that matter to the reader; blocks end with whole lines."""
    if not reader.open and not any(word in block for word in _WORDS):
        log.lines += block.count(b"\n")
        log.progress += _progress(block)
        return
    if b"\r\n" in block:
        block = block.replace(b"\r\n", b"\n")
    for raw in block.split(b"\n")[: None if not block.endswith(b"\n") else -1]:
        log.lines += 1
        if not reader.open and not _WORD.search(raw):
            log.progress += _progress(raw)
            continue
        text = raw[:_LONGEST_LINE].decode("utf-8", "replace")
        line = read_line(log.lines, text, rank)
        if line.rank is not None:
            log.ranks.add(line.rank)
        reader.take(line)


def _progress(block: bytes) -> int:
    return sum(block.count(word) for word in _PROGRESS)

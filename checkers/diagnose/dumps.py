"""Flight-recorder dumps of NCCL: which collective each rank had started when the others waited.

torch writes them pickled. A pickle can run code, so this reader builds plain containers only and refuses the rest.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from pathlib import Path
from typing import Any, BinaryIO

from .record import Call, Frame, Log

_LARGEST = 64 << 20
_MOST_CALLS = 20_000
_RANK = re.compile(r"(\d+)(?:\.\w+)?$")


class _PlainUnpickler(pickle.Unpickler):
    """Containers, strings and numbers; anything that must be looked up by name is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("no plain value")


def is_dump(path: Path, head: bytes) -> bool:
    """Whether a file is a dump: pickled, or JSON with entries."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    start = head.lstrip()[:1]
    return start == b"{" and b'"entries"' in head and b'"pg_' in head


def read_dump(path: Path, stream: BinaryIO, log: Log) -> None:
    """Add the calls of one dump. What is no dump is named among the problems of the log."""
    data = stream.read(_LARGEST + 1)
    log.bytes += len(data)
    try:
        if len(data) > _LARGEST:
            raise ValueError("too large")
        dump = json.loads(data) if data.lstrip()[:1] == b"{" else _PlainUnpickler(io.BytesIO(data)).load()
        entries = dump["entries"]
        rank = _rank(dump, path)
        calls = [_call(entry, rank) for entry in entries[-_MOST_CALLS:]]
    except Exception:  # a damaged dump can fail in any way
        log.problems.append("dump")
        return
    log.ranks.add(rank)
    log.calls += calls
    log.lines += len(calls)


def _rank(dump: dict[str, Any], path: Path) -> int:
    for key in ("rank", "global_rank"):
        if isinstance(dump.get(key), int):
            return int(dump[key])
    found = _RANK.search(path.name)
    return int(found[1]) if found else 0


def _call(entry: dict[str, Any], rank: int) -> Call:
    name = str(entry.get("profiling_name", entry.get("name", "")))
    group = entry.get("process_group") or (entry.get("pg_name", ""), entry.get("pg_desc", ""))
    shown = str(group[-1] or group[0]) if isinstance(group, (list, tuple)) and group else str(group)
    number = entry.get("collective_seq_id", entry.get("seq_id", 0))
    if entry.get("is_p2p"):
        number = entry.get("p2p_seq_id", number)
    frames = tuple(
        Frame(str(frame.get("filename", "")), int(frame.get("line", 0)), str(frame.get("name", "")))
        for frame in entry.get("frames", ())[:40]
        if isinstance(frame, dict)
    )
    return Call(
        rank, shown[:80], int(number), name.rsplit(":", 1)[-1][:80], str(entry.get("state", "")),
        json.dumps(entry.get("input_sizes", []))[:120], frames,
    )  # fmt: skip

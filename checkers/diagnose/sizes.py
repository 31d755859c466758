"""What the sizes in a message say: a share of a tensor-parallel rank, one too few, two axes exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .candidate import Hint, reason
from .sources import Sources

_LEAST = 14.0  # weight of a hint to which sizes add
_SHARE = re.compile(
    r"repeat|gather|scatter|reduce_from|copy_to|tp_size|world_size|_local|_per_rank|parallel|(?://|/) *tp|tp\b"
)
_ONE = re.compile(r"\[:-1\]|\[1:\]|[+-] 1\b|randint\(|arange\(")
_AXES = re.compile(
    r"transpose|permute|movedim|swapaxes|batch_first|\.t\(\)|\.T\b|view\(|reshape\(|^\s*return self\.\w+\(\w+\)$"
)
_BATCH = re.compile(r"batch_?size\w*['\"]?\s*(?:: *int)?\s*[:=]\s*(\d+)\b", re.I)


def size_hints(message: str, hints: Sequence[Hint], sources: Sources) -> Iterator[Hint]:
    """More for the statements among `hints` that do what the sizes look like."""
    wanted, key = _looks(message, sources)
    if wanted is None:
        return
    for path, line in sorted({(hint.path, hint.line) for hint in hints if hint.weight >= _LEAST}):
        source = sources.text(path)
        if source is None or not path.endswith(".py"):
            continue
        start, end = source.statement(line)
        if wanted.search("\n".join(source.lines[start - 1 : end])):
            yield Hint(path, line, 30.0, reason(key))


def _looks(message: str, sources: Sources) -> tuple[re.Pattern[str] | None, str]:
    first = message.split("\n")[0]
    lists = [
        [int(n) for n in re.findall(r"\d+", part)] for part in re.findall(r"[\[(]([\d, x]+)[\])]", first)
    ]
    for one, other in pairwise(lists):
        common = min(len(one), len(other))
        if common > 1 and one[:common] != other[:common] and sorted(one[:2]) == sorted(other[:2]):
            return _AXES, "sizes-exchanged"
    pair = re.search(
        r"size of tensor a \((\d+)\) .*tensor b \((\d+)\)|xpected size (\d+) but got size (\d+)", first
    )
    found = [int(size) for size in pair.groups() if size] if pair is not None else []
    if not found:
        found = next(([a, b] for one, other in pairwise(lists)
                      for a, b in zip(one, other, strict=False) if a != b), [])  # fmt: skip
    if len(found) == 2 and min(found) > 0:
        small, large = sorted(found)
        batches = {int(size) for source in sources.having("batch") for size in _BATCH.findall(source.text)}
        if small > 1 and len({small, large} & batches) == 1 and large - small > 1 and large != 2 * small:
            return _AXES, "sizes-exchanged"
        if large - small == 1 and small > 2:
            return _ONE, "sizes-one-apart"
        if large % small == 0 and large // small in (2, 4, 8):
            return _SHARE, "sizes-a-share-apart"
    return None, ""

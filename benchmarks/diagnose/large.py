"""Write a log of any size as eight ranks leave it: lines mixed, warnings, tracebacks that stopped nothing.

    python benchmarks/diagnose/large.py GIGABYTES [--healthy] > run.log

The last lines are a traceback of rank 5, and the others lose it; `--healthy` leaves them out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

_TRACEBACK = """Traceback (most recent call last):
  File "/srv/run/src/fields/data/read.py", line 88, in __next__
    field = self.read(path)
            ^^^^^^^^^^^^^^^
  File "/srv/run/src/fields/data/read.py", line 41, in read
    return numpy.load(path)
           ^^^^^^^^^^^^^^^^
OSError: [Errno 116] Stale file handle: '/data/era5/{number}.npy'
"""
_LAST = """Traceback (most recent call last):
  File "/srv/run/train.py", line 31, in <module>
    main()
  File "/srv/run/src/fields/modules/mlp.py", line 44, in forward
    x, _ = self.fc2(x)
           ^^^^^^^^^^^
RuntimeError: mat1 and mat2 shapes cannot be multiplied (576x64 and 32x16)
"""
_LOST = """Traceback (most recent call last):
  File "/srv/run/train.py", line 31, in <module>
    main()
  File "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3162, in all_reduce
    work.wait()
RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.5]:31001
"""


def block(number: int, draw: random.Random) -> str:
    """Some thousand lines of eight ranks."""
    lines = []
    for step in range(500):
        for rank in draw.sample(range(8), 8):
            kind = draw.random()
            at = f"[default{rank}]:"
            if kind < 0.7:
                lines.append(
                    f"{at} iteration {number * 500 + step}/500000 | lm loss: {draw.random():.6E} | grad norm: 1.3"
                )
            elif kind < 0.9:
                lines.append(
                    f"{at}[W1130 11:54:31.{step:06d} ProcessGroupNCCL.cpp:1250] no device id was given, using {rank}"
                )
            else:
                lines.append(
                    f"{at}{'#' * draw.randrange(200)} moment {step}: mean 0.01 deviation 0.99 error rate 3e-4"
                )
    if number % 50 == 7:
        rank = draw.randrange(8)
        at = draw.randrange(len(lines) - 100)
        for offset, text in enumerate(_TRACEBACK.format(number=number).splitlines()):
            lines.insert(at + offset * 3, f"[default{rank}]:{text}")
    return "\n".join(lines) + "\n"


def ending() -> Iterator[str]:
    for rank in (5, 4, 0):
        for text in (_LAST if rank == 5 else _LOST).splitlines():
            yield f"[default{rank}]:[rank{rank}]: {text}\n"


def main() -> None:
    left, number, draw = float(sys.argv[1]) * 1e9, 0, random.Random(1)
    blocks = [block(number, draw) for number in range(60)]  # drawing is slow: they come again and again
    while left > 0:
        sys.stdout.write(blocks[number % len(blocks)])
        left -= len(blocks[number % len(blocks)])
        number += 1
    if "--healthy" not in sys.argv:
        sys.stdout.writelines(ending())


if __name__ == "__main__":
    main()

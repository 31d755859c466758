"""Where a rank is that does not come on, so that it can be told from those that wait for it."""

import sys
import threading
from pathlib import Path
from types import FrameType

import megatron.core
import torch

_RUNTIME = Path(__file__).parent
_LIBRARIES = (Path(torch.__file__).parent, Path(megatron.core.__file__).parent)
# Where a rank waits for others: in a collective, a message, or for the GPU, on which these wait.
_WAITING = (_LIBRARIES[0] / "distributed", _LIBRARIES[1], _RUNTIME / "pipeline", _RUNTIME / "training")


def place(frame: FrameType | None = None) -> tuple[bool, str]:
    """Whether the main thread waits for other ranks, and its innermost line outside of libraries.

    Args:
        frame: of the main thread; None to look.
    """
    frame = frame or sys._current_frames()[threading.main_thread().ident]
    waits = _inside(frame, _WAITING)
    while frame.f_back is not None and _inside(frame, (*_LIBRARIES, _RUNTIME)):
        frame = frame.f_back
    return waits, f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def describe(places: dict[int, tuple[bool, str]], seconds: float) -> str:
    """One line on a world that does not come on, from the `place` of each rank."""
    stuck = {rank: where for rank, (waits, where) in places.items() if not waits}
    text = f"no step for {seconds:.0f} s: "
    if stuck and len(stuck) < len(places):
        ranks = "; ".join(f"rank {rank} is at {where}" for rank, where in sorted(stuck.items()))
        return f"{text}{ranks}; the others wait"
    ranks = "; ".join(f"rank {rank} {where}" for rank, (_, where) in sorted(places.items()))
    return f"{text}{'no rank' if stuck else 'every rank'} waits for others: {ranks}"


def _inside(frame: FrameType, folders: tuple[Path, ...]) -> bool:
    path = Path(frame.f_code.co_filename)
    return any(path.is_relative_to(folder) for folder in folders)

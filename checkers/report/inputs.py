"""What reading takes the input of every parallel layer for: held against what a run shows."""

from __future__ import annotations

from pathlib import Path

from ..engine import room
from ..files.discovery import FileSet
from ..project.project import Project
from ..settings import load_settings
from ..tpstate.analysis import Analysis
from ..tpstate.events import ParallelCall
from ..tpstate.states import State
from ..tpstate.values import Tensor

_WORDS = {State.FULL: "whole", State.SHARDED: "split"}


def input_types(folders: list[Path]) -> dict[str, str]:
    """{file:line that builds a parallel layer: "whole" or "split"}, for those whose input was decided, one way."""
    with room():
        files = FileSet.gather(folders, load_settings(folders[0]))
        analysis = Analysis(Project(files, load_settings(folders[0])))
        analysis.run_all()
        found: dict[str, set[str]] = {}
        for event in analysis.log.events:
            if not isinstance(event, ParallelCall):
                continue
            built = event.layer.made_at
            word = _WORDS.get(event.given.state) if built and isinstance(event.given, Tensor) else None
            if built is not None and word is not None:
                found.setdefault(f"{built.module.path}:{built.node.lineno}", set()).add(word)
    return {place: words.pop() for place, words in found.items() if len(words) == 1}

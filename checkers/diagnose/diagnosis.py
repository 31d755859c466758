"""The whole answer: what happened, its kind, the ranked causes in this project, and what fits the log no more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..engine import Progress, examine, room
from ..files.discovery import FileSet
from ..finding import Finding
from ..rule import Symptom
from ..settings import Settings
from .candidate import Cause, Hint, gather
from .crossings import crossed_calls
from .flow import walk_back
from .lookup_stages import loss_contract
from .lookups import message_hints
from .makers import SHAPE_KINDS
from .record import Failure, Log
from .sizes import size_hints
from .sources import Sources, Spot
from .standing import rank_tests
from .static import Passed, finding_hints
from .story import Story, place_of, story_of

SHOWN = 5
_MOST_TOLD = 16
_SHAPES = (
    "shapes-do-not-fit",
    "widths-do-not-fit",
    "p2p-mismatch",
    "checkpoint-load",
    "heads-not-divisible",
    "other",
)


@dataclass
class Diagnosis:
    """What `diagnose` says, for a reader in any language."""

    log: Log
    story: Story
    causes: list[Cause] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)
    changed: list[Spot] = field(default_factory=list)  # frames whose code is no longer there
    places: dict[int, list[Spot]] = field(default_factory=dict)  # by failure
    foreign: bool = False  # no frame of the log lies in this project
    checked: bool = True  # whether there was a project to check
    scripts: list[str] = field(default_factory=list)  # training scripts

    def where(self, failure: Failure) -> str:
        """The collective in which a rank waited, and from which line of this project it came there."""
        spot = next((spot for spot in reversed(self.places.get(id(failure), [])) if not spot.passes_on), None)
        at = f" ({spot.source.path}:{spot.line})" if spot is not None else ""
        return (place_of(failure) or failure.text.split("\n")[0][:120]) + at


def diagnose(
    log: Log, paths: Sequence[Path], settings: Settings, progress: Progress | None = None
) -> Diagnosis:
    """Tie the story of a log to the project below `paths`."""
    story = story_of(log)
    made = Diagnosis(log, story)
    if story.kind.name == "none-seen":
        return made
    sources = Sources(paths)
    if not any(True for _ in sources.files):
        made.checked = False
        return made
    with room():
        run = examine(FileSet.gather(paths, settings), settings, progress)
        symptoms = {rule.symbol: rule.symptom for rule in run.rules}
        project = run.analysis.project

        own = list(training_frameworks(sources))

        def framework(path: str) -> bool:
            if any(os.path.normpath(path).startswith(folder) for folder in own):
                return True
            module = project.module_at(Path(os.path.abspath(path)))
            return module is not None and project.is_framework(module)

        rank_causes(made, sources, run.result.findings, symptoms, framework)
    made.scripts = sorted(source.path for source in sources.having("pretrain(") if "__main__" in source.text)
    return made


def rank_causes(
    made: Diagnosis,
    sources: Sources,
    findings: Sequence[Finding],
    symptoms: dict[str, Symptom],
    framework: Callable[[str], bool],
) -> None:
    """Fill in the causes."""
    story = made.story
    told = [] if story.kind.name == "peer-lost" else story.failures[:_MOST_TOLD]
    chains = [failure for first in told for failure in _chain(first)]
    spots = [sources.spots(failure) for failure in chains]
    made.places = {id(failure): found for failure, found in zip(chains, spots, strict=True)}
    made.spots = next(filter(None, spots), [])
    made.changed = [spot for found in spots for spot in found if not spot.same]
    made.foreign = any(failure.frames for failure in chains) and not any(spots)
    message = "\n".join(failure.text for failure in chains[:3])
    if story.kind.name == "timed-out":  # the transfers in which the ranks wait
        message += "\n" + " ".join(frame.function for failure in chains for frame in failure.frames[-4:])
    first = made.spots
    passed = Passed.of([*(spot for found in spots if found is not first for spot in found), *first], message)
    hints: list[Hint] = list(finding_hints(findings, story.kind, passed, symptoms, sources))
    hints += [
        replace(hint, weight=hint.weight * 0.35) if framework(hint.path) else hint
        for hint in message_hints(message, sources)
    ]
    kind = story.kind.name
    waits = kind in ("timed-out", "interrupted")
    told_of = [first] if not waits else [found for found in spots if found]
    for found in told_of:
        scale = 0.6 if waits else 1.0
        hints += [
            replace(h, weight=h.weight * scale) for h in walk_back(found, sources, kind, framework, message)
        ]
    if waits:
        tests = rank_tests([found for found in spots if found], sources)
        hints += [
            replace(hint, weight=hint.weight * 0.35) if framework(hint.path) else hint for hint in tests
        ]
    hints += loss_contract(first_told, sources) if (first_told := chains[0] if chains else None) else []
    if kind in _SHAPES:
        hints += crossed_calls([spot for found in spots for spot in found], sources)
    if kind in SHAPE_KINDS:
        hints += size_hints(made.story.root.message if made.story.root else "", hints, sources)
    made.causes = gather(hints, sources)[:SHOWN]


def training_frameworks(sources: Sources) -> Iterator[str]:
    """Folders of the project that are a training framework: those of a `pretrain` that others call, two folders up."""
    for source in sources.having("def pretrain("):
        folder = os.path.dirname(os.path.dirname(os.path.normpath(source.path)))
        inside = folder + os.sep
        if folder and not all(os.path.normpath(path).startswith(inside) for path in sources.files):
            yield inside


def _chain(failure: Failure) -> list[Failure]:
    chain = [failure]
    while chain[-1].before is not None and len(chain) < 6:
        chain.append(chain[-1].before)
    return chain

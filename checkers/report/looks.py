"""What the report looks at before it says yes: what all lines of the checklists share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..language import tr
from ..project.boundary import Boundaries, StageFlow
from ..project.stages import Stage
from .subjects import Subject
from .tables import Tables


@dataclass(frozen=True)
class Scene:
    """One model with the tables that were made of it."""

    subject: Subject
    tables: Tables

    def flow(self, stage: Stage) -> StageFlow:
        return self.subject.project.knowledge(Boundaries).of(stage)


class Unseen(Exception):
    """Nothing, or not all, could be looked at; the text says why."""


class Nothing(Exception):
    """The model has nothing of what a line speaks of; the text says what was looked for."""


Look = Callable[[Scene], str]


def original(scene: Scene) -> str:
    if scene.subject.original is None:
        raise Unseen(tr("the original model was not found"))
    return tr("compared with %(module)s", module=scene.subject.original.module.display)


def nothing(_: Scene) -> str:
    """For the rules that no line of the guide speaks of."""
    raise Nothing(tr("no finding"))

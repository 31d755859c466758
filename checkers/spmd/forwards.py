"""What runs in the forward of the modules that people write for a distributed model."""

from __future__ import annotations

from ..facts.module import ClassFacts
from ..project.module_names import written_files
from ..project.project import Project
from .called import calls_of
from .frames import Frame, Scopes


def forward_frames(project: Project) -> list[Frame]:
    """The forwards of stages, distributed modules and what stands in their files, and the functions they call."""
    return project.knowledge(_forward_frames)


def _forward_frames(project: Project) -> list[Frame]:
    found: dict[int, Frame] = {}
    for module in written_files(project):
        for cls in module.classes.values():
            for frame in _of(project, cls):
                found.setdefault(id(frame.scope.function), frame)
    return list(found.values())


def _of(project: Project, cls: ClassFacts) -> list[Frame]:
    forward = cls.methods.get("forward")
    if forward is None or not project.is_module_class(cls):
        return []
    frame = Frame(project, project.knowledge(Scopes).of(cls.module, forward), cls)
    return [frame, *(call.frame for call in calls_of(frame) if call.frame is not frame)]

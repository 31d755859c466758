"""What `verify` must know of a training script before it runs it: its original model, and where its imports lead."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..engine import room
from ..facts.module import ClassFacts
from ..files.discovery import FileSet
from ..files.roots import Folders, project_root
from ..project.originals import Originals
from ..project.project import Project
from ..project.training import Training, TrainingScript
from ..settings import Settings, load_settings


@dataclass(frozen=True)
class Target:
    """A training script as read. `original` is "module:Class", or "" where none was found."""

    script: Path
    original: str = ""
    roots: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)


def find(path: Path, settings: Settings | None = None) -> Target:
    """Read the project around a training script; nothing of it is run."""
    path = path.absolute()
    around = project_root(path, Folders()) or path.parent
    with room():
        files = FileSet.gather([around, path], settings or load_settings(path))
        project = Project(files, settings or load_settings(path))
        script = next((s for s in project.knowledge(Training) if s.module.path == path), None)
        original = _original(project, script) if script is not None else None
        modules = [script.module, original.module] if script is not None and original is not None else []
        if script is not None and script.family is not None:
            modules += [stage.cls.module for stage in script.family.stages]
        roots = [*(project.root_of(module.path) for module in modules), around / "src", around]
    reference = "" if original is None else f"{original.module.name}:{original.name}"
    renamed = {name: str(folder) for name, folder in files.packages.items()}
    return Target(path, reference, tuple(str(r) for r in dict.fromkeys(roots) if r.is_dir()), renamed)


def _original(project: Project, script: TrainingScript) -> ClassFacts | None:
    return None if script.family is None else project.knowledge(Originals).of(script.family)

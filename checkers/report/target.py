"""What `verify` must know of a training script before it runs it: its original model, and where its imports lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..engine import room
from ..facts.module import ClassFacts
from ..files.discovery import FileSet
from ..files.roots import Folders, project_root
from ..language import tr
from ..project.originals import Originals
from ..project.project import Project
from ..project.stages import Stages
from ..project.training import Training, TrainingScript
from ..settings import Settings, SettingsError, load_settings


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
    with room():
        project, around = read_around(path, settings)
        script = script_of(project, path)
        original = _original(project, script) if script is not None else None
        modules = [script.module, original.module] if script is not None and original is not None else []
        if script is not None and script.family is not None:
            modules += [stage.cls.module for stage in script.family.stages]
        roots = [*(project.root_of(module.path) for module in modules), around / "src", around]
    reference = "" if original is None else f"{original.module.name}:{original.name}"
    renamed = {name: str(folder) for name, folder in project.files.packages.items()}
    return Target(path, reference, tuple(str(r) for r in dict.fromkeys(roots) if r.is_dir()), renamed)


def read_around(script: Path, settings: Settings | None = None) -> tuple[Project, Path]:
    """The project around a training script as read, and its folder; call it inside `room()`."""
    around = project_root(script, Folders()) or script.parent
    settings = settings or load_settings(script)
    return Project(FileSet.gather([around, script], settings), settings), around


def script_of(project: Project, path: Path) -> TrainingScript | None:
    """The training script in a file."""
    return next((found for found in project.knowledge(Training) if found.module.path == path), None)


def find_stages(references: Sequence[str]) -> Target:
    """Stages given as "module:Class", looked up below the working folder; nothing of them is run.

    Raises:
        SettingsError: the first is not there.
    """
    here = Path.cwd()
    settings = load_settings(here)
    with room():
        files = FileSet.gather([here], settings)
        project = Project(files, settings)
        dotted, _, name = references[0].partition(":")
        first = next((c for c in project.classes() if c.name == name and _is_in(c, dotted)), None)
        if first is None:
            return _unread(here, references[0])
        stage = project.knowledge(Stages).of(first)
        original = None if stage is None else project.knowledge(Originals).of(stage.family)
        modules = [first.module, *([original.module] if original is not None else [])]
        roots = [*(project.root_of(module.path) for module in modules), here / "src", here]
    reference = "" if original is None else f"{original.module.name}:{original.name}"
    renamed = {name: str(folder) for name, folder in files.packages.items()}
    return Target(
        first.module.path, reference, tuple(str(r) for r in dict.fromkeys(roots) if r.is_dir()), renamed
    )


def _unread(here: Path, reference: str) -> Target:
    """A class in a file that says nothing of parallelism itself, which is not read therefore."""
    inside = Path(*reference.partition(":")[0].split(".")).with_suffix(".py")
    for root in (here / "src", here):
        if (root / inside).is_file():
            return Target(root / inside, "", tuple(str(r) for r in (here / "src", here) if r.is_dir()))
    raise SettingsError(tr("%(name)s: no such class below this folder", name=reference))


def _is_in(cls: ClassFacts, dotted: str) -> bool:
    """Whether a class is of this module, or of one below it that may hand it on."""
    return f"{cls.module.name}.".startswith(f"{dotted}.")


def _original(project: Project, script: TrainingScript) -> ClassFacts | None:
    return None if script.family is None else project.knowledge(Originals).of(script.family)

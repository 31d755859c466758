"""Make the report: examine the whole project around the given paths, then fill in every table for each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..engine import Progress, examine, room
from ..files.discovery import FileSet
from ..files.roots import Folders, project_root
from ..language import tr
from ..settings import Settings
from .call_tree import nodes
from .checklists import checklists
from .looks import Scene
from .model import At, ModelReport, Report, StageInfo
from .subjects import Subject, subjects
from .tables import tables
from .verdict import is_ready, tasks


def make_report(
    paths: Sequence[Path], settings: Settings, progress: Progress | None = None, *, always: bool = True
) -> Report:
    """Report on the distributed models of `paths`.

    The project around each path is read as a whole: a stage, its original, its modules and its training script lie in
    different folders. The rules of the guide apply, whatever the profile says: these are its checklists.
    Without `always` the report is empty where the guide does not apply.
    """
    with room():
        files = FileSet.gather(_projects(paths), settings)
        run = examine(files, replace(settings, profile="guide") if always else settings, progress)
        if not run.analysis.project.follows_guide:
            return Report(())
        given = [path.absolute() for path in paths]
        models = [_model(subject) for subject in subjects(run, given)]
        skipped = [
            tr("%(path)s: %(reason)s", path=skip.path, reason=skip.reason)
            for skip in (*files.unusable, *run.result.skipped)
        ]
    return Report(tuple(models), tuple(dict.fromkeys(skipped)))


def _projects(paths: Sequence[Path]) -> list[Path]:
    """The projects around the paths; a path without one stands for itself."""
    folders = Folders()
    found = [project_root(path.absolute(), folders) or path for path in paths]
    return list(dict.fromkeys(found))


def _model(subject: Subject) -> ModelReport:
    made = tables(subject)
    lists = checklists(Scene(subject, made))
    stages = subject.family.stages
    return ModelReport(
        name=subject.family.name,
        folder=str(Path(stages[0].cls.module.display).parent.as_posix()),
        stages=tuple(
            StageInfo(s.rank, s.cls.name, At(s.cls.module.display, s.cls.node.lineno)) for s in stages
        ),
        original=(
            At(subject.original.module.display, subject.original.node.lineno)
            if subject.original is not None
            else None
        ),
        scripts=tuple(script.module.display for script in subject.scripts),
        configs=tuple(_configs(subject)),
        notes=tuple(_notes(subject)),
        checklists=lists,
        files=made.files,
        tree=nodes(subject.tree),
        registries=made.registries,
        boundaries=made.boundaries,
        balance=made.balance,
        drop_path=made.drop_path,
        differences=made.differences,
        ready=is_ready(subject, lists),
        tasks=tasks(subject, lists),
    )


def _configs(subject: Subject) -> Iterator[str]:
    for load in subject.configs:
        if load.file is not None:
            section = f" [{load.section}]" if load.section else ""
            yield f"{subject.shown(load.file.path)}{section}"


def _notes(subject: Subject) -> Iterator[str]:
    """What is missing or open about the model as a whole."""
    family = subject.family
    first = family.stages[0].rank
    missing = [*range(first or 0), *family.gaps]
    if missing:
        yield tr("No class was found for rank %(ranks)s.", ranks=", ".join(map(str, missing)))
    if len(family.stages) == 1 and first is None:
        yield tr(
            "One class serves every rank: what depends on the order of the stages is known at run time only."
        )
    elif len(family.stages) == 1:
        yield tr("Only one stage was found.")
    counts = {script.num_stages for script in subject.scripts} - {None}
    for count in sorted(filter(None, counts)):
        if count != len(family.stages) and family.ordered:
            yield tr(
                "A training script runs %(count)s stages, and %(number)s classes were found.",
                count=count,
                number=len(family.stages),
            )
    if subject.original is None:
        yield tr("The original model was not found: nothing can be compared with it.")
    if not subject.scripts:
        yield tr("No training script that builds these stages was found.")
    elif len(subject.scripts) > 1:
        yield tr(
            "%(number)s training scripts build these stages: each was checked.", number=len(subject.scripts)
        )
    others = [script.module.display for script in subject.other_scripts]
    if others:
        yield tr("Builds these stages and starts no training: %(others)s.", others=", ".join(others))
    for load in subject.configs:
        if load.problem:
            where = f"{load.scope.module.display}:{load.node.lineno}"
            name = subject.shown(load.file.path) if load.file is not None else tr("The YAML file")
            yield tr(
                "%(name)s (loaded at %(where)s): %(problem)s.", name=name, where=where, problem=load.problem
            )

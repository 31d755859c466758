"""`onescience-check new`: a first draft of a distributed model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files.discovery import display
from ..files.roots import Folders, project_root
from ..language import counted, local, tr
from ..settings import SettingsError
from .exits import CLEAN
from .lang import Lang
from .project import settings_of
from .streams import visible, working_folder


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the stages are called: NAME_stage0 and on.")
    ],
    *,
    original: Annotated[
        str,
        typer.Option(
            metavar="PATH[:CLASS]", help="The file of the plain model; its class, where it has several."
        ),
    ],
    stages: Annotated[int, typer.Option(metavar="N", help="Pipeline stages.")] = 4,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="TREE", help="The project to write into; the one around the plain model if none."
        ),
    ] = None,
    lang: Lang = None,
) -> None:
    """Write a first draft of a distributed model from the plain one; nothing of it is run.

    Stages with their part of the forward, the modules below them with parallel layers, their registry entries, a
    training script and its YAML file. What is left to do by hand is marked TODO(onescience-check). Exit code: 0 it is
    written, 2 nothing is.
    """
    from ..draft.draft import draft, write
    from ..draft.edits import TODO
    from ..engine import room

    working_folder()
    text, _, wanted = original.partition(":")
    path = Path(text).absolute()
    if not path.is_file():
        raise SettingsError(tr("%(path)s: no such file", path=text))
    tree = (into or project_root(path, Folders()) or path.parent).absolute()
    if not path.is_relative_to(tree):
        raise SettingsError(
            tr("%(path)s is not in %(tree)s: its modules are needed beside it", path=text, tree=str(into))
        )
    with room():
        made = draft(path, wanted, name, stages, settings_of(tree), tree)
    write(made)
    for file in sorted([*made.new, *made.changed]):
        todo = made.new.get(file, "").count(TODO)
        print(visible(f"{display(file)}{f': {todo} TODO' if todo else ''}"))
    total = sum(stage.cost for stage in made.stages)
    for index, stage in enumerate(made.stages):
        crossing = ", ".join(stage.gives)
        share = round(100 * stage.cost / total) if total else 0
        said = tr("stage %(index)s: %(share)s %% of the work", index=index, share=share)
        print(visible(local(said) + (f" -> {crossing}" if crossing else "")))
    said = tr(
        "Wrote %(files)s; %(marks)s marked %(todo)s to do by hand.",
        files=counted(len(made.new), "file"),
        marks=counted(made.marks, "place"),
        todo=TODO,
    )
    print(local(said))
    script = display(made.names.examples / "train.py")
    print(f"onescience-check {display(tree)}")
    print(f"onescience-check verify {script} --tp 2 --pp {stages}{made.names.verify_words}")
    raise typer.Exit(CLEAN)

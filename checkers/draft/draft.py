"""The whole of a draft: which files it has, in memory, and writing them at once or not at all."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..facts.module import ClassFacts
from ..files.discovery import FileSet, display
from ..files.source import Unusable, encoding_of, parse, read_bytes
from ..language import tr
from ..project.project import Project
from ..settings import Settings, SettingsError
from ..tpstate.analysis import Analysis
from ..tpstate.stage_models import Stack, blocks, stacks
from .cutting import Cut, cut
from .edits import TODO
from .modules import file_stems, module_file, registry_edits
from .naming import Names, names_for
from .parts import Parts
from .script import base_file, script_file, yaml_file
from .stages import StageWriter

_TOLERANCE = 0.2


@dataclass
class Draft:
    """The files that are new and those that get a line more, with their texts; `stages` say what each holds."""

    tree: Path
    names: Names
    new: dict[Path, str] = field(default_factory=dict)
    changed: dict[Path, tuple[bytes, str]] = field(default_factory=dict)
    stages: list[Cut] = field(default_factory=list)

    @property
    def marks(self) -> int:
        """How many places are marked."""
        return sum(text.count(TODO) for text in self.new.values())


def draft(original: Path, wanted: str, name: str, stages: int, settings: Settings, tree: Path) -> Draft:
    """The draft of a model, nothing of it written yet.

    Raises:
        SettingsError: what was given cannot be drafted from, in one line.
    """
    if stages < 2:
        raise SettingsError(tr("--stages %(count)s: a pipeline has two stages or more", count=stages))
    if not name.isidentifier():
        raise SettingsError(tr("%(name)s: not a name for a class", name=name))
    try:
        parse(original, display(original), read_bytes(original))
    except Unusable as error:
        raise SettingsError(f"{display(original)}: {error.args[0]}") from None
    files = FileSet.gather([tree], settings)
    project = Project(files, settings)
    module = project.module_at(original)
    if module is None:
        raise SettingsError(tr("%(path)s: not in %(tree)s", path=display(original), tree=display(tree)))
    model = _model(project, original, wanted, name)
    parts = Parts(project, model.name)
    analysis = Analysis(project)
    weights = _weights(analysis, parts, model)
    _, forward = _method(model, "__init__"), _method(model, "forward")
    cuts = cut(forward, stages, weights)
    if cuts is None:
        raise SettingsError(
            tr(
                "%(name)s: its forward has fewer steps than %(count)s that compute something",
                name=model.name,
                count=stages,
            )
        )
    names = names_for(project, model, name, stages, tree)
    made = Draft(tree, names, stages=cuts)
    new = parts.below(model)
    stems = file_stems(parts, new)
    for home in dict.fromkeys(cls.module for cls in new):
        path, text = module_file(parts, home, stems, names.megatron)
        made.new[path] = text
    _write_stages(made, StageWriter(parts, model, stems, names))
    init = ast.parse(module.text_of(_method(model, "__init__")).expandtabs().strip()).body[0]
    assert isinstance(init, ast.FunctionDef)
    made.new[names.examples / "train.py"] = script_file(names, cuts, init)
    made.new[names.examples / "conf/config.yaml"] = yaml_file(names, init)
    for path, text in registry_edits(parts, stems).items():
        made.changed[path] = (read_bytes(path), text)
    _refuse(made)
    return made


def _write_stages(made: Draft, writer: StageWriter) -> None:
    names, last = made.names, len(made.stages) - 1
    mean = sum(stage.cost for stage in made.stages) / len(made.stages)
    for index, stage in enumerate(made.stages):
        mark = ""
        if stage.cost / mean - 1 > _TOLERANCE:
            share = round(100 * stage.cost / mean)
            mark = f"# {TODO}: {share} % of the mean work: share a layer's blocks with another stage\n"
            mark += "# pylint: disable-next=stage-imbalance\n"
        made.new[names.stage_file(index)] = writer.file(index, stage, last, mark)
    classes = [names.stage(index) for index in range(last + 1)]
    folder = names.models / names.folder
    lines = [f'"""{names.name} as {last + 1} pipeline stages."""\n\n']
    lines += [f"from .{names.stage_file(index).stem} import {cls}\n" for index, cls in enumerate(classes)]
    exported = ", ".join(f'"{cls}"' for cls in classes)
    made.new[folder / "__init__.py"] = "".join((*lines, f"\n__all__ = [{exported}]\n"))
    made.new[folder / "pipeline_stage.py"] = base_file(names)


def _weights(analysis: Analysis, parts: Parts, model: ClassFacts) -> dict[str, int]:
    """Multiplications of what each attribute of the model computes, with the default sizes of its constructor."""
    found: dict[str, int] = {}
    for node in ast.walk(_method(model, "__init__")):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and _is_module(parts, model, node.value):
                    found[target.attr] = 1
    single = blocks(analysis, model)
    counted = {stack.attr for stack in single}
    for stack in (*single, *(stack for stack in stacks(analysis, model) if stack.attr not in counted)):
        if stack.attr:
            found[stack.attr] = found.get(stack.attr, 0) + _cost(stack)
    return found


def _cost(stack: Stack) -> int:
    return stack.cost or (stack.depth or 1) * (stack.tokens or 1) * (stack.dim or 1) ** 2


def _is_module(parts: Parts, model: ClassFacts, call: ast.Call) -> bool:
    if parts.built(model.module, call) is not None or parts.is_foreign(model.module, call):
        return True
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return called[:1].isupper()


def _model(project: Project, original: Path, wanted: str, name: str) -> ClassFacts:
    """The class to draft from: the one asked for, the one of this name, or the only module of the file."""
    module = project.module_at(original)
    assert module is not None
    classes = [cls for cls in module.classes.values() if project.is_module_class(cls)]
    shown = display(original)
    if wanted:
        chosen = [cls for cls in classes if cls.name == wanted]
        if not chosen:
            raise SettingsError(tr("%(path)s has no module class %(name)s", path=shown, name=wanted))
    else:
        chosen = [cls for cls in classes if cls.name.lower() == name.lower()] or classes
    if len(chosen) != 1:
        found = ", ".join(cls.name for cls in chosen) or "-"
        raise SettingsError(
            tr("%(path)s: which class? PATH:CLASS names one of: %(found)s", path=shown, found=found)
        )
    model = chosen[0]
    for method in ("__init__", "forward"):
        if method not in model.methods:
            raise SettingsError(
                tr(
                    "%(path)s: %(name)s has no %(method)s of its own",
                    path=shown,
                    name=model.name,
                    method=method,
                )
            )
    if "set_input_tensor" in model.methods or "Distributed" in model.name or "ParallelLinear" in module.text:
        raise SettingsError(tr("%(path)s: %(name)s is distributed already", path=shown, name=model.name))
    return model


def _method(model: ClassFacts, name: str) -> ast.FunctionDef:
    return model.methods[name]


def _refuse(made: Draft) -> None:
    """Nothing is written over what is there, and nothing that is no Python."""
    there = [path for path in made.new if path.exists()]
    if there:
        raise SettingsError(tr("%(path)s exists already", path=display(there[0])))
    texts = [*made.new.items(), *((path, text) for path, (_, text) in made.changed.items())]
    for path, text in texts:
        if path.suffix == ".py":
            try:
                ast.parse(text)
            except SyntaxError:
                why = tr(
                    "%(path)s: its code is written in a way that cannot be rewritten", path=display(path)
                )
                raise SettingsError(why) from None


def write(made: Draft) -> None:
    """Write every file, or none.

    Raises:
        SettingsError: a file or folder stands in the way.
    """
    folders: list[Path] = []
    files: list[Path] = []
    replaced: list[Path] = []
    try:
        for path, text in made.new.items():
            for folder in [f for f in reversed(path.parents) if not f.exists()]:
                folder.mkdir()
                folders.append(folder)
            with path.open("x", encoding="utf-8") as file:
                files.append(path)
                file.write(text)
        for path, (before, text) in made.changed.items():
            if read_bytes(path) != before:
                raise OSError(0, tr("changed meanwhile"), str(path))
            replaced.append(path)
            beside = path.with_name(f".{path.name}.draft")
            files.append(beside)
            beside.write_bytes(_as_before(text, before))
            os.replace(beside, path)
            files.remove(beside)
    except (OSError, Unusable) as error:
        for path in replaced:
            if read_bytes(path) != made.changed[path][0]:
                path.write_bytes(made.changed[path][0])
        for path in files:
            path.unlink(missing_ok=True)
        for folder in reversed(folders):
            folder.rmdir()
        at = display(getattr(error, "filename", None) or made.tree)
        why = getattr(error, "strerror", None) or str(error)
        raise SettingsError(tr("%(path)s cannot be written: %(why)s", path=at, why=why.lower())) from None


def _as_before(text: str, before: bytes) -> bytes:
    """A text with the line ends and the encoding that the file had."""
    return (text.replace("\n", "\r\n") if b"\r\n" in before else text).encode(encoding_of(before))

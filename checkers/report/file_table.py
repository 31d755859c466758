"""The modules of the original model and the files of their distributed counterparts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..facts.module import ClassFacts
from ..language import tr
from ..project.distributed import distributed_classes, is_named_distributed, original_of, original_path
from ..tpstate.module_tree import Module, ModuleTree
from .model import FileRow, Mark
from .subjects import Subject


def file_table(subject: Subject) -> tuple[FileRow, ...]:
    """The model itself, each module that the original builds, and distributed modules that have no row by then."""
    rows = [_model_row(subject)]
    done: set[int] = set()
    if subject.original_tree is not None:
        counterparts = _counterparts(subject)
        for cls, module in _modules(subject.original_tree):
            counterpart = counterparts.get(id(cls)) or counterparts.get(cls.module.path) or _same_file(cls)
            if counterpart is not None:
                done.add(id(counterpart))
            if not is_named_distributed(cls):
                rows.append(_row(subject, cls, module, counterpart))
    rows += [
        _lone(subject, cls)
        for cls, _ in _modules(subject.tree)
        if id(cls) not in done and is_named_distributed(cls)
    ]
    return tuple(rows)


def _counterparts(subject: Subject) -> dict[object, ClassFacts]:
    """Distributed modules by their original: its class by the names of both, else its file by name."""
    found: dict[object, ClassFacts] = {}
    for cls in distributed_classes(subject.project):
        original, path = original_of(subject.project, cls), original_path(cls.module.path)
        if original is not None:
            found[id(original)] = cls
        elif path is not None:
            found[path] = cls
    return found


def _modules(tree: ModuleTree) -> Iterator[tuple[ClassFacts, Module]]:
    """The classes of a tree below its roots, each once, outermost first."""
    roots = {id(root.cls) for root in tree.roots}
    seen: set[int] = set()
    for module in tree.modules():
        cls = module.cls
        if cls is None or module.kind == "parallel" or id(cls) in roots | seen:
            continue
        seen.add(id(cls))
        if not tree.project.is_framework(cls.module):
            yield cls, module


def _model_row(subject: Subject) -> FileRow:
    stages = dict.fromkeys(stage.cls.module.display for stage in subject.family.stages)
    files = ", ".join(stages)
    if subject.original is None:
        return FileRow(
            "model",
            subject.family.name,
            tr("not found"),
            files,
            Mark.OPEN,
            tr("the stages cannot be compared with their original"),
        )
    return FileRow("model", subject.original.name, subject.original.module.display, files, Mark.YES)


def _row(subject: Subject, cls: ClassFacts, module: Module, counterpart: ClassFacts | None) -> FileRow:
    kind, original = cls.module.path.parent.name, cls.module.display
    if counterpart is not None:
        name, expected = counterpart.module.path.name, _expected_file(subject, cls)
        odd = not _is_counterpart_file(cls.module.path, counterpart.module.path)
        note = (
            tr(
                "%(counterpart)s; by the naming rule the file is %(expected)s",
                counterpart=counterpart.name,
                expected=expected,
            )
            if odd
            else counterpart.name
        )
        return FileRow(kind, cls.name, original, name, Mark.YES, note)
    if module.kind == "unresolved":
        return FileRow(
            kind,
            cls.name,
            original,
            "?",
            Mark.OPEN,
            module.note or tr("what it builds could not be followed"),
        )
    if module.kind != "plain":
        return FileRow(kind, cls.name, original, "–", None, tr("no linear layer: nothing to split"))
    layers = [found for found in module.walk() if not found.children and found.kind == "plain"]
    where = next((found.site for found in layers if found.site is not None), None)
    note = (
        tr(
            "%(layer)s at line %(line)s",
            layer=layers[0].dotted.removeprefix("torch."),
            line=where.node.lineno,
        )
        if layers and where is not None
        else ""
    )
    return FileRow(kind, cls.name, original, _expected_file(subject, cls), Mark.NO, note)


def _lone(subject: Subject, cls: ClassFacts) -> FileRow:
    """A distributed module that no module of the original model was matched with."""
    kind, original = cls.module.path.parent.name, original_of(subject.project, cls)
    if original is not None:
        used = tr("the original model does not build it") if subject.original_tree is not None else ""
        name, path = original.name, original.module.display
        return FileRow(kind, name, path, cls.module.path.name, Mark.YES, used or cls.name)
    name = cls.name.replace("Distributed", "", 1)
    return FileRow(
        kind,
        name,
        tr("not found"),
        cls.module.path.name,
        Mark.OPEN,
        tr("%(cls)s has no original", cls=cls.name),
    )


def _same_file(cls: ClassFacts) -> ClassFacts | None:
    """`DistributedMlp` beside `Mlp`."""
    return cls.module.classes.get(f"Distributed{cls.name}")


def _is_counterpart_file(original: Path, distributed: Path) -> bool:
    """Whether the names of two files differ by `distributed` and a suffix of one of them at most."""
    plain = original_path(distributed)
    if original == distributed or plain is None:
        return original == distributed
    return plain.stem.startswith(original.stem) or original.stem.startswith(plain.stem)


def _expected_file(subject: Subject, cls: ClassFacts) -> str:
    """`pangufuser.py` → `pangudistributedfuser.py`: `distributed` follows the style, which is the name of the model or
    the first word of the class."""
    stem = cls.module.path.stem
    words = re.findall(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])", cls.name)
    styles = [subject.family.name.lower(), *(word.lower() for word in words[:1])]
    style = next((name for name in styles if stem.lower().startswith(name) and len(stem) > len(name)), "")
    return f"{stem[: len(style)]}distributed{stem[len(style) :]}.py"

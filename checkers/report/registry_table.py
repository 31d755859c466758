"""The distributed modules of a model and their entries in the registries."""

from __future__ import annotations

from ..facts.module import ClassFacts
from ..language import tr
from ..project.distributed import is_named_distributed
from ..project.registries import Registry, registries
from .model import At, Mark, RegistryRow
from .subjects import Subject


def registry_table(subject: Subject) -> tuple[RegistryRow, ...]:
    """One row for each distributed module that the stages build, or that should be built by a style."""
    tables = registries(subject.project)
    stages = {id(stage.cls) for stage in subject.family.stages}
    seen: dict[int, RegistryRow] = {}
    for module in subject.tree.modules():
        cls = module.cls
        if cls is None or id(cls) in stages or id(cls) in seen or module.kind == "parallel":
            continue
        if is_named_distributed(cls) and not subject.project.is_framework(cls.module):
            seen[id(cls)] = _row(subject, cls, tables)
    missing = [
        RegistryRow(
            finding.object, At(finding.place.path, finding.place.line), "", "", Mark.NO, finding.message
        )
        for finding in subject.findings
        if finding.symbol in ("registry-target-missing", "unknown-module-style")
    ]
    return (*sorted(seen.values(), key=lambda row: (row.registry, row.cls)), *missing)


def _row(subject: Subject, cls: ClassFacts, tables: list[Registry]) -> RegistryRow:
    at = At(cls.module.display, cls.node.lineno)
    for table in tables:
        for entry in table.entries:
            if entry.target is cls:
                return RegistryRow(
                    cls.name,
                    at,
                    _name(table),
                    entry.style,
                    Mark.YES,
                    tr("line %(line)s", line=entry.node.lineno),
                )
    beside = [table for table in tables if table.module.path.parent == cls.module.path.parent]
    if not beside:
        return RegistryRow(cls.name, at, "–", "–", None, tr("its folder has no registry"))
    wrong = any(
        f.symbol == "distributed-module-unregistered" and f.object == cls.name for f in subject.findings
    )
    if wrong:
        return RegistryRow(
            cls.name, at, _name(beside[0]), "–", Mark.NO, tr("no entry, and nothing else builds it")
        )
    if not beside[0].is_closed:
        return RegistryRow(
            cls.name, at, _name(beside[0]), "–", Mark.OPEN, tr("the registry has computed entries")
        )
    return RegistryRow(cls.name, at, _name(beside[0]), "–", None, tr("no entry: it is built by its class"))


def _name(table: Registry) -> str:
    return f"{table.module.path.name}: {table.name}"

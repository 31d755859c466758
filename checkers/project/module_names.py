"""The names that a file sets and reads, as Python's own compiler sees them."""

from __future__ import annotations

import builtins
import re
import symtable
from collections.abc import Iterator

from ..facts.module import ModuleFacts
from .distributed import distributed_classes
from .project import Project
from .stages import Stages
from .training import Training

_MODULE = frozenset(
    "__file__ __name__ __doc__ __path__ __package__ __spec__ __loader__ __builtins__ __annotations__".split()
)
_HIDDEN = re.compile(
    r"\bglobals\(\)|\bexec\(|\bsetattr\(|sys\.modules\[|\b__getattr__\b|\blocals\(\)\.update"
)
KNOWN = frozenset(dir(builtins)) | _MODULE | {"__class__", "WindowsError", "get_ipython"}


def written_files(project: Project) -> list[ModuleFacts]:
    """The files that people write for one distributed model: training scripts, stages, distributed modules."""
    return project.knowledge(_written_files)


def _written_files(project: Project) -> list[ModuleFacts]:
    found = [script.module for script in project.knowledge(Training)]
    found += [stage.cls.module for stage in project.knowledge(Stages)]
    found += [cls.module for cls in distributed_classes(project)]
    unique = {id(module): module for module in found if not project.is_framework(module)}
    return sorted(unique.values(), key=lambda module: module.path)


def names_set(module: ModuleFacts) -> set[str] | None:
    """The names that a module has once it is loaded; None where some may be set in ways that are not seen."""
    return _names_set(module, None)


def _names_set(module: ModuleFacts, tables: list[symtable.SymbolTable] | None) -> set[str] | None:
    known = module.tree.__dict__.get("_names", False)
    if known is False:
        is_open = module.stars or module.says(_HIDDEN)
        known = None if is_open else _set_in(_tables(module) if tables is None else tables)
        module.tree._names = known  # type: ignore[attr-defined]
    return None if known is None else set(known)


def _set_in(tables: list[symtable.SymbolTable]) -> frozenset[str] | None:
    return (
        frozenset(
            symbol.get_name()
            for table in tables
            for symbol in table.get_symbols()
            if (table is tables[0] or symbol.is_declared_global())
            and (symbol.is_assigned() or symbol.is_imported())
        )
        if tables
        else None
    )


def names_missing(module: ModuleFacts) -> set[str]:
    """The names that a file reads from its module and that neither it nor Python sets."""
    tables = _tables(module)
    known = _names_set(module, tables)
    if known is None:
        return set()
    known |= KNOWN
    return {
        symbol.get_name()
        for table in tables
        for symbol in table.get_symbols()
        if symbol.is_referenced()
        and (symbol.is_global() or table is tables[0])
        and symbol.get_name() not in known
    }


def _tables(module: ModuleFacts) -> list[symtable.SymbolTable]:
    """What the compiler notes of a file, its top first; nothing where it refuses the file."""
    try:
        top = symtable.symtable(module.text, module.display, "exec")
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [top, *_inside(top)]


def _inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inside(child)

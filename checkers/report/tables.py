"""All tables of one model."""

from __future__ import annotations

from dataclasses import dataclass

from .balance_table import balance_table
from .boundary_table import boundary_table
from .differences_table import differences_table
from .drop_path_table import drop_path_table
from .file_table import file_table
from .model import BalanceTable, BoundaryTable, DifferenceTable, DropPathTable, FileRow, RegistryRow
from .registry_table import registry_table
from .subjects import Subject


@dataclass(frozen=True)
class Tables:
    files: tuple[FileRow, ...]
    registries: tuple[RegistryRow, ...]
    boundaries: BoundaryTable
    balance: BalanceTable
    drop_path: DropPathTable
    differences: DifferenceTable


def tables(subject: Subject) -> Tables:
    """Work all tables out, once."""
    boundaries = boundary_table(subject)
    return Tables(
        file_table(subject),
        registry_table(subject),
        boundaries,
        balance_table(subject, boundaries),
        drop_path_table(subject),
        differences_table(subject),
    )

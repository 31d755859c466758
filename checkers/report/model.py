"""What the report holds. Plain data: every front end prints the same."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Mark(str, enum.Enum):
    """The verdict of one line. OPEN is for what could not be established: it is never a yes. NONE is for a line that
    speaks of what the model does not have."""

    YES = "yes"
    NO = "no"
    OPEN = "open"
    NONE = "none"


@dataclass(frozen=True, order=True)
class At:
    """A line of a file."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Line:
    """One line of a checklist. `note` says what was looked at, or what is wrong or unknown, `places` where.

    `name` and `state` are what a comment that answers the line by hand must name.
    """

    text: str
    guide: str
    mark: Mark
    note: str
    places: tuple[At, ...] = ()
    rules: tuple[str, ...] = ()
    name: str = ""
    state: str = ""


@dataclass(frozen=True)
class Checklist:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FileRow:
    """A module of the original model (`cls` in the file `original`), and the file of its distributed counterpart.

    `mark` is None where nothing of the module can be split, so that it needs no counterpart.
    """

    kind: str
    cls: str
    original: str
    expected: str
    mark: Mark | None
    note: str = ""


@dataclass(frozen=True)
class Node:
    """A module of the call tree. `via` is the wrapper that builds it by a style.

    `kind`: distributed, parallel (a parallel layer), plain (holds a linear layer that stays whole), framework (of the
    training framework, which splits itself), other (nothing to split) or unresolved. `config`: passed, stops (a
    parallel layer below needs it and this call does not hand it on), or empty where none is needed. `as_in` names the
    place of an equal subtree that was printed before.
    """

    name: str
    cls: str
    kind: str
    at: At
    via: str = ""
    config: str = ""
    note: str = ""
    as_in: str = ""
    children: tuple[Node, ...] = ()


@dataclass(frozen=True)
class RegistryRow:
    """A distributed module and the registry of its folder. `mark` is None where no entry is needed."""

    cls: str
    at: At
    registry: str
    style: str
    mark: Mark | None
    note: str = ""


@dataclass(frozen=True)
class TensorRow:
    """One tensor of one boundary. `size` is bytes per micro-batch in float32, None where the shape is not known.

    `tokens` is the middle entry of the shape.
    """

    boundary: str
    name: str
    shape: str
    size: int | None
    gradient: Mark
    gradient_note: str
    unpacked: str
    declared: str
    mark: Mark
    note: str = ""
    tokens: int | None = None


@dataclass(frozen=True)
class BoundaryTable:
    rows: tuple[TensorRow, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BalanceRow:
    """The work of one stage; `share` is relative to the mean of all stages.

    `kept` is what its blocks keep for backward of one sample, in bytes, of 16-bit numbers, without tensor parallelism.
    """

    stage: str
    layers: str
    cost: int | None
    share: float | None
    kept: int | None
    mark: Mark


@dataclass(frozen=True)
class BalanceTable:
    """`is_estimate` where the work of each stage is known, and not the number of its blocks alone."""

    method: str = ""
    rows: tuple[BalanceRow, ...] = ()
    notes: tuple[str, ...] = ()
    is_estimate: bool = False


@dataclass(frozen=True)
class DropPathRow:
    """The drop-path rates of one layer of one stage beside those of the original model."""

    stage: str
    layer: str
    blocks: int | None
    rates: str
    slice: str
    original: str
    original_slice: str
    mark: Mark


@dataclass(frozen=True)
class DropPathTable:
    """`total` counts the blocks of all stages, `original_total` those of the original model.

    `is_unused` where both build blocks and none of them is given a rate.
    """

    total: int | None = None
    original_total: int | None = None
    is_unused: bool = False
    rows: tuple[DropPathRow, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DifferenceRow:
    """One thing that the distributed code does otherwise than the original. YES where a comment says that it is meant,
    OPEN where splitting may need it."""

    name: str
    original: str
    original_at: At
    distributed: str
    distributed_at: At
    mark: Mark
    note: str = ""


@dataclass(frozen=True)
class DifferenceTable:
    """`compared` names the pairs that were held against each other."""

    compared: tuple[str, ...] = ()
    rows: tuple[DifferenceRow, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """A step of the chain that leads to a finding."""

    at: At
    text: str


@dataclass(frozen=True)
class Frame:
    """One finding in its code: `lines` from number `first` on, and the columns of its span in the line of `at`."""

    at: At
    message: str
    first: int
    lines: tuple[str, ...]
    column: int
    end_column: int
    evidence: tuple[Known, ...]


@dataclass(frozen=True)
class Task:
    """One thing to do before merging: a rule's advice, and every place where it applies, the first few in their code.
    `rule` is empty for what the report itself could not find out."""

    what: str
    rule: str
    code: str
    places: tuple[At, ...]
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class StageInfo:
    """One stage. `rank` is None where it is decided at run time."""

    rank: int | None
    cls: str
    at: At


@dataclass(frozen=True)
class ModelReport:
    """Everything about one distributed model. `ready` is None where nothing is wrong but not all could be decided."""

    name: str
    folder: str
    stages: tuple[StageInfo, ...]
    original: At | None
    scripts: tuple[str, ...]
    configs: tuple[str, ...]
    notes: tuple[str, ...]
    checklists: tuple[Checklist, ...]
    files: tuple[FileRow, ...]
    tree: tuple[Node, ...]
    registries: tuple[RegistryRow, ...]
    boundaries: BoundaryTable
    balance: BalanceTable
    drop_path: DropPathTable
    differences: DifferenceTable
    ready: bool | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Report:
    """The models found, in the order of their files. `skipped` are files that could not be read."""

    models: tuple[ModelReport, ...]
    skipped: tuple[str, ...] = field(default=())

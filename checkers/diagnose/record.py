"""What was read from a log: failures, waits, exits, warnings. Small, and of bounded size whatever the log holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from .lines import Line


@dataclass(frozen=True)
class Frame:
    """One frame of a traceback. `code` is the line as the log shows it, `marked` the part under the carets."""

    path: str
    line: int
    function: str
    code: str = ""
    marked: str = ""


@dataclass
class Failure:
    """One exception of one rank. `line` is where it begins in the log, `end` the last line read of it."""

    rank: int | None
    line: int
    end: int = 0
    time: str = ""
    type: str = ""
    message: str = ""
    frames: list[Frame] = field(default_factory=list)
    cut: bool = False
    before: Failure | None = None  # the exception that was being handled, or the direct cause
    progress: int = 0  # how often the log had reported training progress by then

    @property
    def text(self) -> str:
        """What the last line of a traceback says: `TypeError: …`."""
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(frozen=True)
class Wait:
    """A rank that waited in a collective or transfer until its time was over."""

    rank: int | None
    line: int
    operation: str = ""  # ALLREDUCE, SEND …
    number: int | None = None  # the sequence number within its group
    group: str = ""
    size: int | None = None  # elements
    seconds: float | None = None


@dataclass(frozen=True)
class Exit:
    """How a process ended, as its launcher says."""

    rank: int | None
    line: int
    code: int
    time: str = ""
    first: bool = False  # torchelastic's "first observed failure"


@dataclass(frozen=True)
class Note:
    """Any other line that says something: a warning of NCCL, a loss that is no number, a port in use."""

    rank: int | None
    line: int
    what: str
    text: str
    time: str = ""


@dataclass(frozen=True)
class Call:
    """One entry of a flight recorder: a collective that a rank started."""

    rank: int
    group: str
    number: int
    operation: str
    state: str
    sizes: str = ""
    frames: tuple[Frame, ...] = ()


@dataclass
class Log:
    """Everything kept of the logs of one run, in the order of their lines."""

    names: list[str] = field(default_factory=list)
    lines: int = 0
    bytes: int = 0
    failures: list[Failure] = field(default_factory=list)
    stacks: list[Failure] = field(default_factory=list)  # where ranks stood when they were asked
    waits: list[Wait] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)
    world: int | None = None
    sizes: dict[str, int] = field(
        default_factory=dict
    )  # tensor, pipeline: as flags or a dump of arguments say
    progress: int = 0
    dropped: int = 0  # failures that were not kept, because there are too many
    problems: list[str] = field(default_factory=list)  # what could not be read, by key of the catalogue
    cut: bool = False
    summary: dict[str, str] = field(default_factory=dict)  # of torchelastic, while its lines are read
    broken: Line | None = None  # a line that goes on in the next one

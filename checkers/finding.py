"""What a rule says about a place: the one data type that every front end reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, order=True)
class Place:
    """A span of source. Lines count from 1, columns from 0 (UTF-8 bytes are already turned into characters)."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Evidence:
    """One step of the chain that leads to a finding: where, and what is known there."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Edit:
    """Replace the span of `place` by `text`."""

    place: Place
    text: str


@dataclass(frozen=True)
class Fix:
    """What to type. `safe` is right wherever the finding is, and keeps the meaning of right code; `unsafe` needs a
    reader."""

    applicability: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Finding:
    """One verdict of one rule.

    `decided` is False where the analysis cannot tell right from wrong: such findings are counted, listed by
    `--strict`, and never change the exit code otherwise.
    """

    place: Place
    code: str
    symbol: str
    message: str
    object: str = ""
    evidence: tuple[Evidence, ...] = ()
    guide: str = ""
    fix: Fix | None = None
    confidence: str = "high"
    decided: bool = True
    advice: str = ""

    @property
    def sort_key(self) -> tuple[Place, str, str]:
        return (self.place, self.code, self.message)


def joined(found: list[Finding], also: str) -> Finding:
    """One finding for several with one cause: at the first place, the others as evidence, one fix for all."""
    steps = [Evidence(other.place.path, other.place.line, also) for other in found[1:]]
    fixes = [finding.fix for finding in found]
    edits = tuple(dict.fromkeys(edit for fix in fixes if fix is not None for edit in fix.edits))
    first = fixes[0]
    fix = Fix(first.applicability, edits) if first is not None and None not in fixes else None
    return replace(found[0], evidence=(*found[0].evidence, *steps), fix=fix)


@dataclass
class Summary:
    """Figures that keep silence from being mistaken for proof.

    Inputs are those of the `row_layers` among the parallel layers, one for each place that calls one; a row-parallel
    layer of which no call was followed counts as one undecided input. `suppressed` counts findings that a comment
    switches off.
    """

    files: int = 0
    parallel_layers: int = 0
    row_layers: int = 0
    inputs_decided: int = 0
    inputs_undecided: int = 0
    suppressed: int = 0
    by_symbol: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Skipped:
    """A file that was not analysed, and why."""

    path: str
    reason: str

    @property
    def is_fault(self) -> bool:
        """Whether a program failed: ours, or a rule of the project."""
        return self.reason.startswith(("internal error", FAULT))


FAULT = "fault in the project's rule"


@dataclass
class Result:
    """Everything one run of the engine found.

    `suppressed` holds what a comment in the code switches off, `accepted` what the baseline accepts and `stale` its
    entries that nothing was found for; `older` counts what was found before the change that is looked at, `left_out`
    what there is no room for.
    """

    findings: list[Finding]
    undecided: list[Finding]
    skipped: list[Skipped]
    summary: Summary
    suppressed: list[Finding] = field(default_factory=list)
    accepted: list[Finding] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    older: int | None = None
    left_out: int = 0

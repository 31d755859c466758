"""What a verification found. Plain objects: the command prints them, tests compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """One fault, with the place to look at.

    Args:
        kind: crash, hang, boundary, gradient, parameters, collectives, numbers, replicas, start, checkpoint or data.
        message: what happened, in one sentence.
        stage: number of the pipeline stage; None for what belongs to no stage.
        ranks: tensor-parallel ranks on which it was seen.
        module: path of the module inside its stage (``layer1.blocks.0.mlp``), "" for the stage itself.
        cls: class of that module.
        given: type of what the module was given.
        path, line: innermost place in the user's files.
        rule: symbol of the rule that speaks of such a fault, or "".
        because: further lines: the calls on the way, the places compared with.
        also: paths and lines of the other files on the way, nearest first.
    """

    kind: str
    message: str
    stage: int | None = None
    ranks: tuple[int, ...] = ()
    module: str = ""
    cls: str = ""
    given: str = ""
    path: str = ""
    line: int = 0
    rule: str = ""
    because: tuple[str, ...] = ()
    also: tuple[tuple[str, int], ...] = ()

    @property
    def where(self) -> str:
        """Stage, module and class in words."""
        parts = [] if self.stage is None else [f"stage {self.stage}"]
        if self.module:
            parts.append(self.module)
        return " ".join(parts) + (f" ({self.cls})" if self.cls else "")


@dataclass(frozen=True)
class StageFigures:
    """Traced costs of one stage on one tensor-parallel rank, per micro-batch.

    Args:
        stage: its number.
        parameters: on one rank.
        flops: forward and backward.
        saved: bytes kept for backward, parameters left out.
        sent: bytes sent to the next stage.
        received: bytes received from the stage before, or of the batch.
        kept: bytes alive after its forward, with what it sends and without what it received.
        peak: the most bytes alive in its forward and backward, counted so.
        share: flops over the mean of all stages.
        modules: class names of its children, in order.
    """

    stage: int
    parameters: int
    flops: int
    saved: int
    sent: int
    received: int = 0
    kept: int = 0
    peak: int = 0
    share: float = 1.0
    modules: tuple[str, ...] = ()


@dataclass
class Result:
    """All that one part found.

    Args:
        part: shapes or numbers.
        layout: "2x4" for tensor-parallel 2 and pipeline-parallel 4.
        findings: faults, those that explain most first.
        notes: what could not be looked at, and why.
        figures: of each stage (shapes).
        facts: named figures for the text below the findings.
        types: what each parallel layer was given: {file:line that builds it: "whole" or "split"} (numbers).
        known: what was found out of the original, for the next part.
    """

    part: str
    layout: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: list[StageFigures] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    known: dict = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def as_dict(self) -> dict:
        """For JSON."""
        found = {**dataclasses.asdict(self), "ok": self.ok}
        del found["known"]
        return found


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """The same fault on several ranks is one."""
    found: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.kind, finding.stage, finding.module, finding.path, finding.line, finding.rule)
        if finding.kind not in ("crash", "hang") or not finding.path:
            key = (*key, finding.message)
        if key in found:
            ranks = tuple(sorted({*found[key].ranks, *finding.ranks}))
            found[key] = dataclasses.replace(found[key], ranks=ranks)
        else:
            found[key] = finding
    return list(found.values())

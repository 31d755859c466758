"""What crosses each boundary, from four sides: sent, received, declared by the script, and built by the stage."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from ..language import listed, tr
from ..project.boundary import Boundaries, Sent, StageFlow
from ..project.stages import Stage
from ..project.training import ShapeConfig, TrainingScript
from ..tpstate.stage_sizes import Declared, Made, StageSizes
from .model import BoundaryTable, Mark, TensorRow
from .subjects import Subject

_FLOAT32 = 4
_RULES = (
    "stage-shapes-count",
    "stage-shapes-mismatch",
    "stage-shapes-hard-coded",
    "stage-shapes-batch",
    "boundary-dtype-mismatch",
)


class _Declarations:
    """The `stage_shapes` of all scripts of a model."""

    def __init__(self, subject: Subject) -> None:
        self.sizes: list[tuple[TrainingScript, ShapeConfig, StageSizes]] = [
            (script, config, StageSizes(script, config))
            for script in subject.scripts
            for config in script.shape_configs
        ]
        self.found = {
            (number, shape.boundary, shape.index): shape
            for number, (_, _, sizes) in enumerate(self.sizes)
            for shape in sizes.declared()
        }

    def names_batch(self, shape: Declared) -> bool:
        """Whether the batch entry is the micro-batch size that the job is started with."""
        node = shape.node.elts[0]
        for (number, _, _), other in self.found.items():
            if other is shape:
                bound = self.sizes[number][1].scope.value(node.id) if isinstance(node, ast.Name) else None
                return "micro_batch" in ast.unparse(bound if bound is not None else node)
        return False

    def of(self, boundary: int, index: int) -> list[tuple[TrainingScript, Declared]]:
        return [
            (script, self.found[number, boundary, index])
            for number, (script, _, _) in enumerate(self.sizes)
            if (number, boundary, index) in self.found
        ]

    def made(self, boundary: int, index: int) -> Made | None:
        """What the stage's own sizes say; the first script that tells."""
        for _, _, sizes in self.sizes:
            source = sizes.source(boundary, index)
            made = sizes.made(source[0], source[2]) if source is not None else None
            if made is not None:
                return made
        return None


def boundary_table(subject: Subject) -> BoundaryTable:
    """One row for each tensor of each boundary."""
    family = subject.family
    if not family.ordered:
        return BoundaryTable(notes=tuple(_unordered(subject)))
    declarations = _Declarations(subject)
    rows: list[TensorRow] = []
    notes = list(_missing(subject))
    for stage in family.stages[:-1]:
        found = list(_boundary(subject, stage, declarations))
        if not found:
            notes.append(tr("What %(cls)s sends could not be told.", cls=stage.cls.name))
        rows += found
    return BoundaryTable(tuple(rows), tuple(notes))


def _missing(subject: Subject) -> Iterator[str]:
    if not subject.scripts:
        yield tr(
            "No training script was found, so that no stage_shapes can be compared and no size is known."
        )
    elif not any(script.shape_configs for script in subject.scripts):
        yield tr("The training script builds no PipelineTensorShapeConfig.")
    for script in subject.scripts:
        for config in script.shape_configs:
            if config.boundaries is None:
                where = f"{script.module.display}:{config.node.lineno}"
                yield tr(
                    "The stage_shapes at %(where)s are computed: they are known at run time only.",
                    where=where,
                )
    for rank in subject.family.gaps:
        yield tr("No class has rank %(rank)s: its boundaries are unknown.", rank=rank)


def _unordered(subject: Subject) -> Iterator[str]:
    for stage in subject.family.stages:
        flow = subject.project.knowledge(Boundaries).of(stage)
        forms = dict.fromkeys(_form(seen) for trace in flow.traces for seen in trace.returns)
        found = listed(", or ", forms) or tr("nothing that could be followed")
        yield tr(
            "%(cls)s returns %(found)s; which rank sends what is decided at run time.",
            cls=stage.cls.name,
            found=found,
        )
    yield from _missing(subject)


def _form(seen: object) -> str:
    node = getattr(seen, "node", None)
    value = node.value if isinstance(node, ast.Return) else None
    return ast.unparse(value) if value is not None else "None"


def _boundary(subject: Subject, stage: Stage, declarations: _Declarations) -> Iterator[TensorRow]:
    flows = subject.project.knowledge(Boundaries)
    sent, rank = flows.of(stage).sent(), stage.rank or 0
    counts = {item.count for item in sent}
    if len(counts) != 1:
        return
    receiver = stage.following
    received = flows.of(receiver) if receiver is not None else None
    names = received.unpacked() if received is not None else None
    for index in range(counts.pop()):
        items = [item for item in sent if item.index == index]
        declared, made = declarations.of(rank, index), declarations.made(rank, index)
        shape, size = _shape(declared, made)
        mark, note = _mark(subject, declarations, declared, made)
        gradient, why = _gradient(items, index, received)
        yield TensorRow(
            boundary=f"{rank} → {rank + 1}",
            name=_name(items),
            shape=shape,
            size=size,
            gradient=gradient,
            gradient_note=why,
            unpacked=_unpacked(names[1] if names is not None else None, index, receiver),
            declared=_declared(declared, declarations),
            mark=mark,
            note=note,
            tokens=_tokens(declared, made),
        )
    yield from _surplus(stage, counts_of(sent), declarations, names[1] if names is not None else None)


def counts_of(sent: list[Sent]) -> int:
    """How many tensors a stage sends, when that is the same on all ways."""
    return sent[0].count if sent else 0


def _surplus(
    stage: Stage, count: int, declarations: _Declarations, names: tuple[str, ...] | None
) -> Iterator[TensorRow]:
    """Tensors that the script declares, or the next stage unpacks, and nobody sends."""
    rank = stage.rank or 0
    said = [index for _, boundary, index in declarations.found if boundary == rank]
    for index in range(count, max([index + 1 for index in said] + [len(names or ())], default=0)):
        declared = _declared(declarations.of(rank, index), declarations)
        unpacked = _unpacked(names, index, stage.following)
        row = TensorRow(
            f"{rank} → {rank + 1}", "–", "–", None, Mark.NO, tr("not sent"), unpacked, declared, Mark.NO
        )
        yield row


def _name(items: list[Sent]) -> str:
    names = dict.fromkeys(item.name or ast.unparse(item.node) for item in items)
    made = dict.fromkeys(item.origin.name for item in items)
    by = next(iter(made)) if len(made) == 1 else ""
    passes = {item.origin.passes for item in items}
    through = (len(passes) == 1 and (passes.pop() or -1) >= 0) or all(
        item.origin.passes == 0 for item in items
    )
    text = listed(" or ", names)
    return (
        tr("%(text)s (passed through)", text=text)
        if through
        else tr("%(text)s (from %(by)s)", text=text, by=by)
        if by
        else text
    )


def _shape(declared: list[tuple[TrainingScript, Declared]], made: Made | None) -> tuple[str, int | None]:
    """The shape of the tensor: what the stage builds where that is known, else what the script says."""
    known = [shape.sizes for _, shape in declared if None not in shape.sizes]
    batch = known[0][0] if known else 1  # the guide's micro-batch
    if made is not None and made.tokens is not None and made.width is not None and batch is not None:
        return f"[{batch}, {made.tokens}, {made.width}]", batch * made.tokens * made.width * _FLOAT32
    if known and all(sizes == known[0] for sizes in known):
        size = math.prod(number or 0 for number in known[0]) * _FLOAT32
        return tr("%(shape)s by stage_shapes alone", shape=list(known[0])), size
    return "?", None


def _tokens(declared: list[tuple[TrainingScript, Declared]], made: Made | None) -> int | None:
    if made is not None and made.tokens is not None:
        return made.tokens
    known = {shape.sizes[1] for _, shape in declared if len(shape.sizes) == 3}
    return known.pop() if len(known) == 1 else None


def _mark(
    subject: Subject,
    declarations: _Declarations,
    declared: list[tuple[TrainingScript, Declared]],
    made: Made | None,
) -> tuple[Mark, str]:
    wrong = [
        finding
        for finding in subject.findings
        if finding.symbol in _RULES
        and any(
            finding.place.path == script.module.display
            and shape.node.lineno <= finding.place.line <= (shape.node.end_lineno or 0)
            and shape.node.col_offset <= finding.place.column < (shape.node.end_col_offset or 0)
            for script, shape in declared
        )
    ]
    if wrong:
        return Mark.NO, wrong[0].message
    if not declared:
        return Mark.OPEN, tr("no shape is declared that can be read")
    shapes = [shape for _, shape in declared]
    if any(None in s.sizes[1:] or (s.sizes[0] is None and not declarations.names_batch(s)) for s in shapes):
        return Mark.OPEN, tr("the declared shape is known at run time only")
    if made is None or made.tokens is None or made.width is None:
        return Mark.OPEN, tr("what the stage sends could not be computed")
    same = all(shape.sizes[1:] == (made.tokens, made.width) for shape in shapes)
    return (
        (Mark.YES, tr("%(by)s makes it", by=made.by))
        if same
        else (Mark.OPEN, tr("the shapes could not be compared"))
    )


def _declared(declared: list[tuple[TrainingScript, Declared]], declarations: _Declarations) -> str:
    texts = {script.module.path.name: _text(shape) for script, shape in declared}
    if not texts:
        return "–" if not declarations.found else tr("not declared")
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return listed("; ", (tr("%(what)s: %(note)s", what=name, note=text) for name, text in texts.items()))


def _text(shape: Declared) -> str:
    parts = [
        str(size) if size is not None else ast.unparse(node)
        for size, node in zip(shape.sizes, shape.node.elts, strict=True)
    ]
    return f"[{', '.join(parts)}]"


def _unpacked(names: tuple[str, ...] | None, index: int, receiver: Stage | None) -> str:
    if receiver is None:
        return tr("no such stage")
    if names is None:
        return "?"
    return names[index] or tr("item %(index)s", index=index) if index < len(names) else tr("not unpacked")


def _gradient(items: list[Sent], index: int, received: StageFlow | None) -> tuple[Mark, str]:
    """Whether backward finds a gradient for the tensor: it must be a float, and the next stage must use it."""
    if any(item.origin.dtype in ("int", "bool") for item in items):
        return Mark.NO, tr("an integer tensor has no gradient")
    if any(item.origin.constant for item in items):
        return Mark.NO, tr("a constant has no gradient")
    trace = received.receiving if received is not None else None
    if received is None or trace is None or received.unpacked() is None or not trace.returns:
        return Mark.OPEN, tr("how the next stage uses it could not be followed")
    used = set(trace.escaped).union(*(seen.origin.carries for seen in trace.returns))
    if index in used:
        return Mark.YES, ""
    if trace.is_open or trace.without_gradient:
        return Mark.OPEN, tr("how the next stage uses it could not be followed")
    return Mark.NO, tr("the next stage returns nothing that depends on it")

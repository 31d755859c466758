"""The report as sections of plain cells: what the terminal and Markdown print alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..language import listed, local, localized, tr
from ..report.model import At, Checklist, Mark, ModelReport, Node

MARKS = {Mark.YES: "✅", Mark.NO: "❌", Mark.OPEN: "?", Mark.NONE: "–", None: "–"}
MAX_PLACES = 3
NOTHING = tr("No distributed model was found: no class is named or mapped as a pipeline stage.")
VERDICTS = {
    True: tr("ready to merge"),
    False: tr("not ready to merge"),
    None: tr("not shown to be ready"),
}
KINDS = {
    "distributed": tr("distributed"),
    "parallel": tr("parallel layer"),
    "plain": tr("plain"),
    "other": tr("nothing to split"),
    "framework": tr("of the framework"),
    "unresolved": tr("unresolved"),
}


@dataclass(frozen=True)
class Section:
    """A table with what is to be said below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def heading(model: ModelReport) -> str:
    """The verdict on one model in one line."""
    verdict = local(VERDICTS[model.ready])
    lines = [line for checklist in model.checklists for line in checklist.lines]
    counts = [f"{MARKS[mark]} {sum(line.mark is mark for line in lines)}" for mark in Mark]
    return f"{verdict}   {'   '.join(counts)}"


def facts(model: ModelReport) -> Iterator[tuple[str, str]]:
    """What the model is made of."""
    for stage in model.stages:
        name = tr("stage %(rank)s", rank=stage.rank) if stage.rank is not None else tr("stages")
        yield local(name), f"{stage.cls}  {stage.at}"
    yield local("original"), str(model.original) if model.original is not None else local("not found")
    yield local("script"), ", ".join(model.scripts) or local("not found")
    if model.configs:
        yield "YAML", ", ".join(model.configs)


def sections(model: ModelReport) -> Iterator[Section]:
    """Every table, in the order of the guide and the language of the reader."""
    for made in _sections(model):
        titles = tuple(map(local, made.columns))
        yield Section(local(made.title), titles, localized(made.rows), localized(made.notes))


def _sections(model: ModelReport) -> Iterator[Section]:
    for checklist in model.checklists:
        yield _checklist(checklist)
    yield Section(
        "Files",
        ("", "kind", "original", "in", "distributed", "note"),
        tuple(
            (MARKS[row.mark], row.kind, row.cls, _names(row.original), _names(row.expected), row.note)
            for row in model.files
        ),
    )
    yield Section(
        "Registries",
        ("", "module", "registry", "style", "note"),
        tuple((MARKS[row.mark], row.cls, row.registry, row.style, row.note) for row in model.registries),
        () if model.registries else (tr("No distributed module was found below the stages."),),
    )
    yield _boundaries(model)
    yield _balance(model)
    yield _drop_path(model)
    yield _differences(model)


def _names(paths: str) -> str:
    """File names without their folders, which the kind says."""
    return ", ".join(path.rsplit("/", 1)[-1] for path in paths.split(", "))


def _checklist(checklist: Checklist) -> Section:
    rows = tuple((MARKS[line.mark], line.text, _said(line.note, line.places)) for line in checklist.lines)
    unsure = [line for line in checklist.lines if line.mark is Mark.OPEN and line.state]
    notes = [f"# onescience: checked {line.name} {line.state} <{local('reason')}>" for line in unsure]
    said = [
        tr("Read by hand, a ? is answered by such a line in a file of the model, until its code changes:")
    ]
    return Section(checklist.title, ("", "line", "what was found"), rows, (*said, *notes) if notes else ())


def _said(note: str, where: Sequence[At]) -> str:
    return f"{local(note)}\n{places(where)}" if where else note


def places(where: Sequence[At]) -> str:
    """Places, lines of one file together, the first few of them."""
    grouped: dict[str, list[int]] = {}
    for place in where:
        grouped.setdefault(place.path, []).append(place.line)
    shown = [f"{path}:{','.join(map(str, sorted(set(lines))))}" for path, lines in grouped.items()]
    more = (
        [local(tr("and %(number)s more files", number=len(shown) - MAX_PLACES))]
        if len(shown) > MAX_PLACES + 1
        else []
    )
    return "\n".join([*(shown[:MAX_PLACES] if more else shown), *more])


def _boundaries(model: ModelReport) -> Section:
    rows = tuple(
        (
            MARKS[row.mark],
            row.boundary,
            row.name,
            row.shape,
            bytes_text(row.size),
            f"{MARKS[row.gradient]} {local(row.gradient_note)}".rstrip(),
            row.unpacked,
            row.declared,
        )
        for row in model.boundaries.rows
    )
    notes = [
        *dict.fromkeys(
            tr("%(boundary)s: %(note)s.", boundary=row.boundary, note=row.note)
            for row in model.boundaries.rows
            if row.mark is Mark.NO
        )
    ]
    columns = (
        "",
        "boundary",
        "sent",
        "shape",
        "per micro-batch",
        "gradient",
        "unpacked as",
        "stage_shapes says",
    )
    if rows:
        notes.append(tr("Sizes are those of float32; bf16 and fp16 take half."))
    return Section("Boundaries", columns, rows, (*notes, *model.boundaries.notes))


def bytes_text(size: int | None) -> str:
    """A size for a reader."""
    if size is None:
        return "?"
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.1f} GiB"


def _balance(model: ModelReport) -> Section:
    table = model.balance
    rows = tuple(
        (
            MARKS[row.mark],
            row.stage,
            row.layers or "–",
            f"{row.cost:.3g}" if row.cost is not None else "?",
            f"{row.share:.2f}" if row.share is not None else "?",
            bytes_text(row.kept),
        )
        for row in table.rows
    )
    notes = (
        [tr("Estimated by %(method)s; ✅ within 20 %% of the mean.", method=table.method)]
        if table.method
        else []
    )
    return Section(
        "Balance",
        ("", "stage", "layers × blocks", "cost", "of the mean", "kept"),
        rows,
        (*notes, *table.notes),
    )


def _drop_path(model: ModelReport) -> Section:
    table = model.drop_path
    rows = tuple(
        (
            MARKS[row.mark],
            row.stage,
            row.layer,
            _number(row.blocks),
            row.rates,
            row.slice,
            row.original,
            row.original_slice,
        )
        for row in table.rows
    )
    total, original = _number(table.total), _number(table.original_total)
    said = tr(
        "%(total)s blocks on the stages, %(original)s in the original model, with the default arguments.",
        total=total,
        original=original,
    )
    columns = ("", "stage", "layer", "blocks", "rates", "slice", "original rates", "original slice")
    unclear = [tr("? where the original gives the layer another number of blocks, or is not known.")]
    is_open = any(row.mark is Mark.OPEN for row in table.rows)
    return Section("Drop path", columns, rows, (said, *(unclear if is_open else []), *table.notes))


def _differences(model: ModelReport) -> Section:
    table = model.differences
    rows = tuple(
        (
            MARKS[row.mark],
            row.name,
            f"{row.original}\n{_names(str(row.original_at))}",
            f"{row.distributed}\n{_names(str(row.distributed_at))}",
            row.note,
        )
        for row in table.rows
    )
    pairs = listed(", ", table.compared) or tr("nothing")
    compared = tr("Held against each other: %(pairs)s.", pairs=pairs)
    return Section(
        "What differs from the original",
        ("", "in", "original", "distributed", "note"),
        rows,
        (compared, *table.notes),
    )


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def label(node: Node) -> tuple[str, str, str]:
    """A node of the call tree: name and class, its kind, and the rest."""
    name = f"{node.name}: {node.cls}" if node.name and node.cls else node.cls or node.name
    name = local(tr("%(name)s by %(wrapper)s", name=name, wrapper=node.via)) if node.via else name
    config = tr("config stops here") if node.config == "stops" else ""
    same = tr("as %(place)s", place=node.as_in) if node.as_in else ""
    rest = listed("; ", (part for part in (config, node.note, same) if part))
    return name, local(KINDS[node.kind]), local(rest)

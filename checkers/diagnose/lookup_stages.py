"""Places that a message about a boundary between stages leads to: what is declared, returned and received."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from .candidate import Hint, reason
from .reading import targets
from .record import Failure
from .sources import Sources, SourceText


def stage_shapes(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """What a stage sends against what was declared for it. The odd one out among the entries is at fault, or the
    order or number that the stage returns."""
    stage, entry = int(found[1]), int(found[3])
    sent, declared = (
        [re.findall(r"\d+", part) for part in re.findall(r"\[[\d, ]*\]", found[n])] for n in (2, 4)
    )
    in_order = sorted(sent) == sorted(declared)
    same_count = len(sent) == len(declared)
    batch = same_count and all(a[1:] == b[1:] for a, b in zip(sent, declared, strict=True))
    consistent = in_order and _taken_as_sent(stage, sources)
    odd = [n for n, (a, b) in enumerate(zip(sent, declared, strict=False)) if a != b] if same_count else []
    returned = 40.0 if consistent else 92.0 if in_order else 36.0 if same_count else 48.0
    for source in sources.having("tage"):
        yield from _stage_returns(source, stage, returned)
        if len(odd) == 1 and not batch:
            for back in list(_returned_tuples(source, stage)):
                if odd[0] < len(back.elts):
                    yield from (
                        replace(h, weight=76.0) for h in _last_made(source, back.elts[odd[0]], back.lineno)
                    )
        for node in source.nodes:
            if (
                isinstance(node, ast.keyword)
                and node.arg == "stage_shapes"
                and isinstance(node.value, ast.List)
            ):
                yield from _declared(
                    source, node.value, entry, batch, 34.0 if in_order or not same_count else 44.0
                )


def _taken_as_sent(stage: int, sources: Sources) -> bool:
    """Whether the next stage takes the tensors by the names and in the order in which this one returns them."""
    sent: set[str] = set()
    taken: set[str] = set()
    for source in sources.having("tage"):
        for cls in source.nodes:
            found = re.search(r"[Ss]tage_?(\d+)$", cls.name) if isinstance(cls, ast.ClassDef) else None
            number = int(found[1]) if found is not None else -1
            for node in ast.walk(cls) if number in (stage, stage + 1) else ():
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and number == stage:
                    sent.add(ast.unparse(node.value))
                elif (
                    isinstance(node, ast.Assign)
                    and "input_tensor" in ast.unparse(node.value)
                    and number > stage
                ):
                    taken.update(
                        ast.unparse(target) for target in node.targets if isinstance(target, ast.Tuple)
                    )
    return bool(sent) and sent == taken


def _declared(source: SourceText, shapes: ast.List, entry: int, batch: bool, weight: float) -> Iterator[Hint]:
    texts = [ast.unparse(node) for node in shapes.elts]
    if entry >= len(texts):
        yield Hint(source.path, shapes.lineno, weight, reason("shape-declared-here", number=entry))
        return
    node = shapes.elts[entry]
    odd = len(texts) > 2 and texts.count(texts[entry]) == 1
    yield Hint(
        source.path, node.lineno, weight + (10 if odd else 0), reason("shape-declared-here", number=entry)
    )
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    first = {
        ast.unparse(shape.elts[0]) for shape in ast.walk(node) if isinstance(shape, ast.List) and shape.elts
    }
    around = next(
        (n for n in reversed(source.enclosing(node.lineno)) if isinstance(n, ast.FunctionDef)), None
    )
    for made in ast.walk(around) if around is not None else ():
        if isinstance(made, ast.Assign):
            targets = {part.id for t in made.targets for part in ast.walk(t) if isinstance(part, ast.Name)}
            if targets & names:
                heavy = 98.0 if batch and targets & first else 38.0
                name = ", ".join(sorted(targets & names))
                yield Hint(source.path, made.lineno, heavy, reason("made-here", name=name))


def _stage_returns(source: SourceText, stage: int, weight: float) -> Iterator[Hint]:
    for cls in source.nodes:
        if not isinstance(cls, ast.ClassDef) or not re.search(rf"[Ss]tage_?{stage}$", cls.name):
            continue
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name == "forward":
                for node in ast.walk(method):
                    if isinstance(node, ast.Return):
                        yield Hint(source.path, node.lineno, weight, reason("sent-here", number=stage))
                    elif isinstance(node, ast.Assign) and "input_tensor" in ast.unparse(node.value):
                        yield Hint(
                            source.path, node.lineno, weight - 12, reason("received-here", number=stage)
                        )


def _returned_tuples(source: SourceText, stage: int) -> Iterator[ast.Tuple]:
    lines = {hint.line for hint in _stage_returns(source, stage, 0.0) if hint.reason.key == "sent-here"}
    for node in source.nodes:
        if isinstance(node, ast.Return) and node.lineno in lines and isinstance(node.value, ast.Tuple):
            yield node.value


def stage_count(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    for source in sources.having("tage"):
        yield from _stage_returns(source, int(found[1]), 44.0)


def sent_tensor(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """The element of a stage's returned tuple that a message counts."""
    stage, number = int(found[1]), int(found[2])
    for source in sources.having("def set_input_tensor"):
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and not re.search(r"\d$", node.name):
                yield from _element(source, node, number)
    for source in sources.having("tage"):
        for hint in _stage_returns(source, stage, 52.0):
            yield hint
            for node in source.nodes:
                if (
                    isinstance(node, ast.Return)
                    and node.lineno == hint.line
                    and isinstance(node.value, ast.Tuple)
                ):
                    if number < len(node.value.elts) and isinstance(node.value.elts[number], ast.Name):
                        yield from _last_made(source, node.value.elts[number], node.lineno)


def _element(source: SourceText, cls: ast.ClassDef, number: int) -> Iterator[Hint]:
    """The element of the tuples that the forward of a stage returns."""
    methods = [part for part in cls.body if isinstance(part, ast.FunctionDef) and part.name == "forward"]
    for node in (inner for method in methods for inner in ast.walk(method)):
        if (
            isinstance(node, ast.Return)
            and isinstance(node.value, ast.Tuple)
            and number < len(node.value.elts)
        ):
            yield Hint(
                source.path,
                node.lineno,
                48.0,
                reason("returned-here", name=ast.unparse(node.value.elts[number])),
            )
            yield from _last_made(source, node.value.elts[number], node.lineno)


def _last_made(source: SourceText, name: ast.expr, line: int) -> Iterator[Hint]:
    around = next((n for n in reversed(source.enclosing(line)) if isinstance(n, ast.FunctionDef)), None)
    made = [
        node.lineno
        for node in ast.walk(around or ast.Module([], []))
        if isinstance(node, ast.Assign)
        and node.lineno < line
        and isinstance(name, ast.Name)
        and name.id in targets(node)
    ]
    if made:
        yield Hint(source.path, max(made), 45.0, reason("made-here", name=getattr(name, "id", "")))


def no_gradient(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Ranks that wait for a gradient: where none can come from."""
    for source in sources.having("no_grad"):
        for node in source.nodes:
            if isinstance(node, ast.With) and any("no_grad" in ast.unparse(item) for item in node.items):
                around = [n.name for n in source.enclosing(node.lineno)]
                if any(re.search(r"forward|step", name) and "eval" not in name for name in around):
                    yield Hint(source.path, node.lineno, 50.0, reason("no-gradient-here"))


def loss_contract(failure: Failure, sources: Sources) -> Iterator[Hint]:
    """A failure where Megatron's schedule takes apart what the loss function returned: the returns of that function."""
    own = [frame for frame in failure.frames[-3:] if frame.path.endswith("schedules.py")]
    last = own[-1] if own else None
    if last is None or not last.function.startswith(("forward_step", "forward_backward")):
        return
    if re.search(r"(?:forward_step|forward_step_func|backward_step|recv_\w+|send_\w+|p2p\w*)\(", last.code):
        return
    wanted = 1 if "num_tokens" in last.code and not last.code.startswith("output_tensor") else 0
    names = {
        part.id
        for source in sources.having("def forward_step")
        for node in source.nodes
        if isinstance(node, ast.FunctionDef) and node.name.startswith("forward_step")
        for back in ast.walk(node)
        if isinstance(back, ast.Return) and isinstance(back.value, ast.Tuple) and len(back.value.elts) == 2
        for part in ast.walk(back.value.elts[1])
        if isinstance(part, ast.Name)
    }
    for source in sources.having("def "):
        for node in source.nodes if names else ():
            if isinstance(node, ast.FunctionDef) and node.name in names:
                for part in ast.walk(node):
                    if isinstance(part, ast.Return):
                        yield Hint(source.path, part.lineno, 66.0, reason("loss-contract"))
                        elements = part.value.elts if isinstance(part.value, ast.Tuple) else []
                        if len(elements) == 3:
                            made = _last_made(source, elements[wanted], part.lineno)
                            yield from (replace(hint, weight=52.0 + 20 * wanted) for hint in made)


def stage_flags(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A stage that sends something else than a stage of its place does: who tells it which ends it has."""
    for source in sources.having("_process"):
        for node in source.nodes:
            if isinstance(node, ast.Call) and {"pre_process", "post_process"} & {
                k.arg for k in node.keywords
            }:
                yield Hint(source.path, node.lineno, 52.0, reason("stage-flags-here"))


def transfer_sizes(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Ranks that wait for a transfer: the sizes that it was told, and those of the batches."""
    for source in sources.having("batch_size"):
        for node in source.nodes:
            if isinstance(node, ast.keyword) and node.arg in ("micro_batch_size", "seq_length", "batch_size"):
                yield Hint(source.path, node.value.lineno, 34.0, reason("batch-declared-here"))

"""Places that a message names: a class, a keyword, a parameter of a checkpoint, a key of a YAML file."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from .callers import calls_of, classes, functions, given, setters, stores
from .candidate import Hint, Reason, reason
from .reading import targets
from .sources import Sources, SourceText

Lookup = Callable[[re.Match[str], Sources], Iterator[Hint]]


def message_hints(message: str, sources: Sources) -> Iterator[Hint]:
    """Every place that the message leads to by its names."""
    for pattern, lookup in _LOOKUPS:
        for found in list(re.finditer(pattern, message))[:8]:
            yield from lookup(found, sources)


def _unexpected(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    cls, _, method = found[1].rpartition(".")
    name = cls.rsplit(".", 1)[-1] if method in ("__init__", "forward") and cls else method
    for path, call in calls_of(name, sources):
        for keyword in call.keywords:
            if keyword.arg == found[2]:
                why = reason("keyword-not-taken", name=found[2], cls=name)
                yield Hint(path, keyword.value.lineno, 66.0, why)
    yield from _definition(name, sources, 30.0)


def _missing(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    cls, _, method = found[1].rpartition(".")
    name = cls.rsplit(".", 1)[-1] if method in ("__init__", "forward") and cls else method
    asked = re.findall(r"'(\w+)'", found[2])
    for path, call in calls_of(name, sources):
        named = {keyword.arg for keyword in call.keywords}
        if None not in named and not named & set(asked):
            why = reason("argument-left-out", name=", ".join(asked), cls=name)
            yield Hint(path, call.lineno, 46.0, why)
    yield from _definition(name, sources, 24.0)
    if method == name:
        yield from _mentions(name, sources, 44.0)


def _several(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    cls, _, method = found[1].rpartition(".")
    name = cls.rsplit(".", 1)[-1] if method in ("__init__", "forward") and cls else method
    for path, call in calls_of(name, sources):
        if call.args:
            yield Hint(path, call.lineno, 45.0, reason("given-twice", name=found[2], cls=name))
    yield from _definition(name, sources, 26.0)


def _attribute(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A class that lacks an attribute: its constructor, unless it has one of a similar name."""
    typo = "Did you mean" in found.string
    for source, cls in classes(found[1], sources):
        why = reason("class-lacks", name=found[2], cls=found[1])
        made = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        called = f".{found[2]}(" in source.text and not any(True for _ in setters(cls, found[2]))
        head = made[0] if made and called and not typo else cls
        yield Hint(source.path, head.lineno, 40.0 if typo else 112.0, why)


def _definition(name: str, sources: Sources, weight: float, why: Reason | None = None) -> Iterator[Hint]:
    """The class of a name."""
    for source, node in classes(name, sources):
        yield Hint(source.path, node.lineno, weight, why or reason("defined-here", name=name))


def _mentions(name: str, sources: Sources, weight: float) -> Iterator[Hint]:
    """Where a function is handed on by its name."""
    for source in sources.having(name):
        for node in source.nodes:
            if isinstance(node, ast.Return) and node.value is not None:
                if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value)):
                    yield Hint(source.path, node.lineno, weight, reason("handed-on-here", name=name))


def _import(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    name = found[1]
    for source in sources.having(name):
        for node in source.nodes:
            if (
                isinstance(node, ast.Constant)
                and node.value == name
                and not source.path.endswith("__init__.py")
            ):
                yield Hint(source.path, node.lineno, 34.0, reason("names-it", name=name))
            elif isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                yield Hint(source.path, node.lineno, 30.0, reason("imports-it", name=name))


def _shaped(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Two shapes of one parameter. Equal sizes cut along another axis speak for its mark, not for its making."""
    shapes = [[int(size) for size in re.findall(r"\d+", found[place])] for place in (2, 3)]
    same = math.prod(shapes[0]) == math.prod(shapes[1])
    yield from _parameter(found, sources, is_marked=same)


def _parameter(found: re.Match[str], sources: Sources, is_marked: bool = False) -> Iterator[Hint]:
    """A parameter by the name under which a checkpoint holds it: where the module makes and marks it."""
    parts = [part for part in found[1].split(".") if not part.isdigit()]
    own = parts[-1] if parts[-1] not in ("weight", "bias") else parts[-2] if len(parts) > 1 else parts[-1]
    owners = [
        (source, cls)
        for source in sources.having(f".{own}")
        for cls in source.nodes
        if isinstance(cls, ast.ClassDef) and any(True for _ in setters(cls, own))
    ]
    split = [pair for pair in owners if "istributed" in pair[0].path or "istributed" in pair[1].name]
    for source, cls in (split or owners)[:4]:
        yield from _making(source, cls, own, sources, is_marked)


def _making(
    source: SourceText, cls: ast.ClassDef, own: str, sources: Sources, is_marked: bool
) -> Iterator[Hint]:
    methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    for method, node in setters(cls, own):
        yield Hint(source.path, node.lineno, 46.0, reason("parameter-set-here", name=own))
        parameters = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {"self"}
        for parameter in sorted(parameters & used):
            for path, line, weight, key, fields in given(cls.name, parameter, sources, 30.0):
                yield Hint(path, line, weight, reason(key, **fields))
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr in methods:
                for inner in ast.walk(methods[part.attr]):
                    if isinstance(inner, ast.Return):
                        yield Hint(source.path, inner.lineno, 48.0, reason("parameter-made-here", name=own))
        yield from _locals(source, method, used - parameters, own)
    for call in ast.walk(cls):
        if isinstance(call, ast.Expr) and isinstance(call.value, ast.Call):
            if any(isinstance(arg, ast.Attribute) and arg.attr == own for arg in call.value.args):
                weight = 50.0 if is_marked else 36.0
                yield Hint(source.path, call.lineno, weight, reason("parameter-marked-here", name=own))


def _locals(source: SourceText, method: ast.FunctionDef, used: set[str], own: str) -> Iterator[Hint]:
    """What the sizes of a parameter were computed from."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and not stores(node, own):
            targets = {
                part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
            }
            if targets & used:
                yield Hint(source.path, node.lineno, 34.0, reason("parameter-made-here", name=own))


def _stage_shapes(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
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
    returned = 40.0 if consistent else 48.0 if in_order or not same_count else 36.0
    for source in sources.having("tage"):
        yield from _stage_returns(source, stage, returned)
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


def _stage_count(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    for source in sources.having("tage"):
        yield from _stage_returns(source, int(found[1]), 44.0)


def _sent_tensor(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """The element of a stage's returned tuple that a message counts."""
    stage, number = int(found[1]), int(found[2])
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


def _style(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A style that a registry does not have: the registry, where there is a class of the name, else who asks for it."""
    name, choices = found[1], set(re.findall(r"'(\w+)'", found[2]))
    exists = any(True for _ in classes(name, sources))
    for path, call in calls_of(name, sources):
        asked = next(
            (k.value.lineno for k in call.keywords if getattr(k.value, "value", None) == name), call.lineno
        )
        yield Hint(path, asked, 60.0 if exists else 110.0, reason("style-named-here", name=name))
    for path in sources.files:
        source = sources.text(path)
        for node in source.nodes if source is not None and any(c in source.text for c in choices) else ():
            if isinstance(node, ast.Dict):
                keys = {str(key.value): key.lineno for key in node.keys if isinstance(key, ast.Constant)}
                if choices and set(keys) == choices:
                    line = min(keys.values())
                    yield Hint(path, line, 130.0 if exists else 62.0, reason("registry-of-styles", name=name))


def _key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A number that a map of this project does not have."""
    wanted = int(found[1])
    for path in sources.files:
        source = sources.text(path)
        for node in source.nodes if source is not None and source.tree is not None else ():
            if isinstance(node, ast.Dict) and len(node.keys) > 1:
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                if all(type(key) is int for key in keys) and wanted not in keys:
                    yield Hint(path, node.lineno, 60.0, reason("lacks-key", name=wanted))


def _quoted_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A quoted word beside the name of a YAML file: a key of that file."""
    if re.search(r"\.ya?ml", found.string):
        for hint in _yaml_key(found, sources):
            yield replace(hint, weight=112.0)


def _value(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """`num_heads (12)`: where no YAML file says 12, a default does, and somebody did not give the argument."""
    key, value = found[1], found[2]
    said = [source for path in sources.extra if (source := sources.text(path)) is not None]
    pattern = re.compile(rf"^\s*{re.escape(key)}\s*:.*(?<!\d){re.escape(value)}(?!\d)", re.M)
    named = [s for s in said if os.path.basename(s.path) in found.string] or said
    if any(pattern.search(source.text) for source in named):
        return
    owners = [
        node
        for source in sources.having(key)
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and _has_default(node, key, value)
    ]
    for node in owners:
        for path, call in calls_of(node.name, sources):
            if not any(keyword.arg in (key, None) for keyword in call.keywords):
                yield Hint(path, call.lineno, 52.0, reason("default-taken", name=key))
    if owners:
        yield from _left_out(key, sources)


def _has_default(cls: ast.ClassDef, key: str, value: str) -> bool:
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            arguments = method.args
            pairs = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
            return any(a.arg == key and value in ast.unparse(default) for a, default in pairs)
    return False


def _left_out(key: str, sources: Sources) -> Iterator[Hint]:
    """A call that gives many settings of one object by their own names, and leaves out this one."""
    for path in sources.files:
        source = sources.text(path)
        for node in source.nodes if source is not None and source.tree is not None else ():
            if not isinstance(node, ast.Call) or len(node.keywords) < 4:
                continue
            same = [k for k in node.keywords if isinstance(k.value, ast.Attribute) and k.value.attr == k.arg]
            if len(same) >= 4 and key not in {k.arg for k in node.keywords}:
                yield Hint(path, node.lineno, 62.0, reason("default-taken", name=key))


def _no_gradient(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Ranks that wait for a gradient: where none can come from."""
    for source in sources.having("no_grad"):
        for node in source.nodes:
            if isinstance(node, ast.With) and any("no_grad" in ast.unparse(item) for item in node.items):
                around = [n.name for n in source.enclosing(node.lineno)]
                if any(re.search(r"forward|step", name) and "eval" not in name for name in around):
                    yield Hint(source.path, node.lineno, 50.0, reason("no-gradient-here"))


def _named_function(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A function of this project that the message names."""
    if "_" in found[1]:
        for source, node in functions(found[1], sources):
            yield Hint(source.path, node.lineno, 28.0, reason("named-in-the-message"))


def _yaml_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A key that the message names, in the YAML files of the project."""
    key = found[1]
    named = {os.path.basename(name) for name in re.findall(r"[\w./-]+\.ya?ml", found.string)}
    folders = re.findall(r"([\w-]+)[/\\]conf", found.string)
    for path in sources.extra:
        source = sources.text(path)
        if source is None or (named and os.path.basename(path) not in named):
            continue
        if named and folders and not any(folder in re.split(r"[/\\]", path) for folder in folders):
            continue
        for number, text in enumerate(source.lines, 1):
            if re.match(rf"\s*{re.escape(key)}\s*:", text):
                yield Hint(path, number, 60.0 if named else 20.0, reason("set-in-yaml", name=key))


_LOOKUPS: tuple[tuple[str, Lookup], ...] = (
    (r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    (r"([\w.<>]+)\(\) missing \d+ required [\w-]+(?: arguments?)?(?: arguments?)?: (.+)", _missing),
    (r"([\w.<>]+)\(\) got multiple values for (?:keyword )?argument '(\w+)'", _several),
    (r"'(\w+)' object has no attribute '(\w+)'", _attribute),
    (r"cannot import name '(\w+)'", _import),
    (r"((?:\w+\.)+\w+) has shape (\[[\d, ]*\]).*? wants (\[[\d, ]*\])", _shaped),
    (r"size mismatch for ((?:\w+\.)*\w+): .*?(\[[\d, ]*\]).*?(\[[\d, ]*\])", _shaped),
    (r"in state_dict: \"((?:\w+\.)*\w+)\"", _parameter),
    (r"((?:\w+\.)+(?:weight|bias)) ", _parameter),
    (
        r"stage (\d+) returned tensors of shapes (.+?), but entry (\d+) of stage_shapes says (.+?)(?:: |$)",
        _stage_shapes,
    ),
    (r"stage (\d+) must return a tuple", _stage_count),
    (r"stage (\d+) returned tensor (\d+) as", _sent_tensor),
    (r"unknown \w+ style '(\w+)'; choose one of (\[.*?\])", _style),
    (r"KeyError: (\d+)", _key),
    (r"(?<!section )'(\w+)'", _quoted_key),
    (r"\b([a-z]\w{3,}) \((\d+)\)", _value),
    (r"recv_backward", _no_gradient),
    (r"\b([a-z]\w{5,})\b", _named_function),
    (r"lacks weights of \w+: ((?:\w+\.)+\w+)", _parameter),
    (r"[\"']((?:\w+\.){2,}\w+)[\"']", _parameter),
    (r"\b([a-z]\w{3,}) (?:\(|is |must |= ?)", _yaml_key),
    (r"KeyError: '(\w+)'", _yaml_key),
)

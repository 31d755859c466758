"""Places that a message names: a class, a keyword, a parameter of a checkpoint, a key of a YAML file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .callers import calls_of, classes, functions, guards, setters
from .candidate import Hint, Reason, reason
from .lookup_parameters import parameter, shaped
from .lookup_settings import number_key, quoted_key, style, unwritten_key, value_of_key, yaml_key
from .lookup_stages import no_gradient, sent_tensor, stage_count, stage_flags, stage_shapes, transfer_sizes
from .sources import Sources

Lookup = Callable[[re.Match[str], Sources], Iterator[Hint]]


def message_hints(message: str, sources: Sources) -> Iterator[Hint]:
    """Every place that the message leads to by its names."""
    for pattern, lookup in _LOOKUPS:
        for found in list({m[0]: m for m in re.finditer(pattern, message)}.values())[:8]:
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
        if any(True for _ in setters(cls, found[2])):
            yield Hint(source.path, cls.lineno, 20.0, why)  # it has it, on some paths
            for number, (method, made) in enumerate(setters(cls, found[2])):
                for test in guards(method, made):
                    only = reason("only-under-this-test", name=found[2])
                    yield Hint(source.path, test, 64.0 + number, only)
            continue
        builders = [
            node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ]
        called = f".{found[2]}(" in source.text
        head = builders[0] if builders and called and not typo else cls
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


def _named_function(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A function of this project that the message names."""
    if "_" in found[1]:
        for source, node in functions(found[1], sources):
            yield Hint(source.path, node.lineno, 28.0, reason("named-in-the-message"))


def _seeds(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """Where random streams are seeded: the one of the message is not among them."""
    for source in sources.having("manual_seed("):
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef):
                text = ast.unparse(node)
                if "manual_seed(" in text and "Generator" not in text:
                    yield Hint(source.path, node.lineno, 58.0, reason("seeds-here"))


def _own_parameter(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A parameter by its whole name: the attributes of classes that its first part names."""
    for source in sources.having(f"self.{found[1]}"):
        for cls in source.nodes:
            for _, made in setters(cls, found[1]) if isinstance(cls, ast.ClassDef) else ():
                yield Hint(source.path, made.lineno, 47.0, reason("built-here", name=found[1]))


_LOOKUPS: tuple[tuple[str, Lookup], ...] = (
    (r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    (r"([\w.<>]+)\(\) missing \d+ required [\w-]+(?: arguments?)?(?: arguments?)?: (.+)", _missing),
    (r"([\w.<>]+)\(\) got multiple values for (?:keyword )?argument '(\w+)'", _several),
    (r"'(\w+)' object has no attribute '(\w+)'", _attribute),
    (r"cannot import name '(\w+)'", _import),
    (r"((?:\w+\.)+\w+) has shape (\[[\d, ]*\]).*? wants (\[[\d, ]*\])", shaped),
    (r"size mismatch for ((?:\w+\.)*\w+): .*?(\[[\d, ]*\]).*?(\[[\d, ]*\])", shaped),
    (r"in state_dict: \"((?:\w+\.)*\w+)\"", parameter),
    (r"((?:\w+\.)+(?:weight|bias)) ", parameter),
    (
        r"stage (\d+) returned tensors of shapes (.+?), but entry (\d+) of stage_shapes says (.+?)(?:: |$)",
        stage_shapes,
    ),
    (r"stage (\d+) must return a tuple", stage_count),
    (r"stage (\d+) returned tensor (\d+) as", sent_tensor),
    (r"unknown \w+ style '(\w+)'; choose one of (\[.*?\])", style),
    (r"KeyError: (\d+)", number_key),
    (r"(?<!section )'(\w+)'", quoted_key),
    (r"\b([a-z]\w{3,}) \((\d+)\)", value_of_key),
    (r"recv_backward", no_gradient),
    (r"Mismatch in shape: grad_output", stage_flags),
    (r"(?:recv|send)_(?:for|back)ward\b", transfer_sizes),
    (r"rng state [\w-]+ is not added", _seeds),
    (r"have a parameter (\w+)\.", _own_parameter),
    (r"\b([a-z]\w{5,})\b", _named_function),
    (r"lacks weights of \w+: ((?:\w+\.)+\w+)", parameter),
    (r"[\"']((?:\w+\.){2,}\w+)[\"']", parameter),
    (r"\b([a-z]\w{3,}) (?:\(|is |must |= ?)", yaml_key),
    (r"KeyError: '(\w+)'", yaml_key),
    (r"KeyError: '(\w+)'", unwritten_key),
)

"""Places that a message about settings leads to: keys of YAML files, styles, maps, arguments left out."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import replace

from .callers import calls_of, classes
from .candidate import Hint, reason
from .makers import keys_of
from .sources import Sources


def yaml_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
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
                value = re.search(rf"\b{re.escape(key)} \((\d+)\)", found.string)
                said = named and value is not None and re.search(rf"(?<!\d){value[1]}(?!\d)", text)
                weight = 104.0 if said else 60.0 if named else 20.0
                yield Hint(path, number, weight, reason("set-in-yaml", name=key))


def style(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
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


def number_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A number that a map of this project does not have."""
    wanted = int(found[1])
    for path in sources.files:
        source = sources.text(path)
        for node in source.nodes if source is not None and source.tree is not None else ():
            if isinstance(node, ast.Dict) and len(node.keys) > 1:
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                if all(type(key) is int for key in keys) and wanted not in keys:
                    yield Hint(path, node.lineno, 60.0, reason("lacks-key", name=wanted))


def quoted_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A quoted word beside the name of a YAML file: a key of that file."""
    if re.search(r"\.ya?ml", found.string):
        for hint in yaml_key(found, sources):
            yield replace(hint, weight=112.0)


def value_of_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
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


def unwritten_key(found: re.Match[str], sources: Sources) -> Iterator[Hint]:
    """A key that is read and never written: the dict that is written with the other keys read beside it."""
    key = found[1]
    for source in sources.having(f'["{key}"]'):
        for function in source.nodes:
            if not isinstance(function, ast.FunctionDef):
                continue
            beside = {other for part in ast.walk(function) for _, other in keys_of(part)}
            if key in beside and len(beside) > 1:
                yield from _written_with(beside - {key}, key, sources)


def _written_with(beside: set[str], key: str, sources: Sources) -> Iterator[Hint]:
    for path in sources.files:
        source = sources.text(path)
        for node in source.nodes if source is not None and source.tree is not None else ():
            if isinstance(node, ast.Dict):
                keys = {name.value for name in node.keys if isinstance(name, ast.Constant)}
                if beside <= keys and key not in keys:
                    yield Hint(path, node.lineno, 72.0, reason("lacks-key", name=key))

"""Where a script or a configuration refuses heads that the TP size does not divide, before a model is built."""

from __future__ import annotations

import ast
import bisect
import re
from collections import defaultdict
from collections.abc import Iterator

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from .project import Project, dotted_name
from .scopes import lines_with

_REFUSES = re.compile(
    r"(?=[^#\n]*\b(?:assert|if|raise|elif|and)\b)(?P<count>[^#\n]*head[^%\n]*)%[^\n]*"
    r"(?:tp|tensor|parallel|world|mp_size|gpu)"
)
_NAME = re.compile(r"\w*head\w*")


def is_key_value(text: str) -> bool:
    """Whether a name is that of a count of key/value heads: checking the query heads says nothing of them."""
    return re.search(r"kv|key|group", text) is not None


class RefusedHeads:
    """The names of the counts that are tested, and every name that one of them is handed on under."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._names = {name for module in project.modules for name in self._of(module)}
        handed: defaultdict[str, set[str]] = defaultdict(set)
        for module in project.modules if self._names else ():
            for given, taken in self._handed(module):
                handed[given].add(taken)
        todo = list(self._names)
        while todo:
            for taken in handed.pop(todo.pop(), ()):
                self._names.add(taken)
                todo.append(taken)

    def speaks(self, name: str, *, key_value: bool) -> bool:
        """Whether such a count is refused: those of the queries say nothing of the keys."""
        last = name.rsplit(".", 1)[-1]
        return last in self._names and (not key_value or is_key_value(last))

    def _of(self, module: ModuleFacts) -> Iterator[str]:
        inside = [cls.node for cls in module.classes.values() if self.project.is_module_class(cls)]
        for line, text in enumerate(module.lines, 1) if "head" in module.words else ():
            found = _REFUSES.match(text) if "%" in text and "head" in text else None
            if found is not None and not any(
                node.lineno <= line <= (node.end_lineno or line) for node in inside
            ):
                for name in _NAME.findall(found["count"]):
                    yield from _stands_for(module, name)

    def _handed(self, module: ModuleFacts) -> Iterator[tuple[str, str]]:
        """Pairs of names: what a value is called, and what it is called where it goes."""
        lines = sorted(lines_with(module.text, "head"))
        for node in walk(module.tree) if lines else ():
            if not isinstance(node, ast.keyword | ast.Assign | ast.Call):
                continue
            at = bisect.bisect_left(lines, node.lineno)
            if at == len(lines) or lines[at] > (node.end_lineno or node.lineno):
                continue
            if isinstance(node, ast.keyword):
                if node.arg is not None:
                    yield from ((name, node.arg) for name in _names(node.value))
            elif isinstance(node, ast.Assign):
                names = _names(node.value)
                for target in node.targets if names else ():
                    last = ast.unparse(target).rsplit(".", 1)[-1]
                    yield from ((name, last) for name in names)
            elif any(map(_names, node.args)):
                yield from self._positional(module, node)

    def _positional(self, module: ModuleFacts, call: ast.Call) -> Iterator[tuple[str, str]]:
        name = dotted_name(call.func)
        ref = self.project.resolve(module, name) if name is not None else None
        found = self.project.method(ref, "__init__") if isinstance(ref, ClassFacts) else None
        taken = [arg.arg for arg in found[1].args.args[1:]] if found is not None else []
        for value, parameter in zip(call.args, taken, strict=False):
            yield from ((given, parameter) for given in _names(value))


def _stands_for(module: ModuleFacts, name: str) -> list[str]:
    """What a local name of a count is taken from: `heads = args.num_attention_heads`."""
    taken = [
        source
        for node in walk(module.tree)
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets)
        for source in _names(node.value)
    ]
    return taken or [name]


def _names(value: ast.expr) -> list[str]:
    """The names of heads in a value: `args.num_heads`, `cfg["num_heads"]`, `num_heads[1]`."""
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BoolOp | ast.IfExp):
        return []
    found = []
    for node in walk(value):
        text = (
            node.id
            if isinstance(node, ast.Name)
            else node.attr
            if isinstance(node, ast.Attribute)
            else node.value
            if isinstance(node, ast.Constant)
            else ""
        )
        if isinstance(text, str) and "head" in text and text.isidentifier():
            found.append(text)
    return found

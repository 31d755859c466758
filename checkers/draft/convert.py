"""Plain layers and modules written as parallel ones, in the text of a class.

Each linear layer becomes a Row layer that is given, and gives, whole tensors. That is right wherever the layer stands,
and its weight is split; where two layers or the heads of an attention could share one exchange, a mark says so.
"""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts, ModuleFacts
from .axes import many_axes
from .edits import Edits, add_argument, add_parameter
from .parts import Parts

PAIR = "Column with gather_output=False here and Row with input_is_parallel=True behind it save an exchange"
HEADS = "q, k and v as Column layers and heads per rank save exchanges"
FOREIGN = "this is another package's: write it with parallel layers"
PLAIN = "a linear layer that is not only called, or built in another way: split it by hand"
SMALL = "so few inputs are not split: each rank computes it whole; or split what comes behind it"
_FEW = 64
_OFF = "plain-linear-in-distributed"


class Converter:
    """Rewrites classes of one file; `stems` are all classes that get a distributed version, and its files."""

    def __init__(self, parts: Parts, module: ModuleFacts, stems: dict[ClassFacts, str]) -> None:
        self.parts, self.module, self.stems = parts, module, stems
        self.edits = Edits(module.text)
        self._classes = {n.name: n for n in self.edits.tree.body if isinstance(n, ast.ClassDef)}

    def node(self, cls: ClassFacts) -> ast.ClassDef:
        """The class in the tree of the edits."""
        return self._classes[cls.name]

    def convert(self, cls: ClassFacts, config: str = "config") -> set[str]:
        """Write the parallel layers and distributed parts of a class; the names of the parallel kinds it uses."""
        node = self.node(cls)
        rows: dict[str, ast.Call] = {}
        for statement in ast.walk(node):
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                target = statement.targets[0]
                if isinstance(target, ast.Attribute) and self.parts.is_linear(self.module, statement.value):
                    if self._is_only_called(node, target.attr):
                        rows[target.attr] = statement.value
        for method in [n for n in node.body if isinstance(n, ast.FunctionDef)]:
            for call in [n for n in ast.walk(method) if isinstance(n, ast.Call)]:
                self._call(cls, method, call, rows, config)
        names = [attr for attr, call in rows.items() if self._as_row(call, config)]
        if names and "attention" in cls.name.lower():
            self.edits.mark(rows[names[0]], HEADS)
        elif len(names) > 1:
            self.edits.mark(rows[names[0]], PAIR)
        return {"RowParallelLinear"} if names else set()

    def rename(self, cls: ClassFacts) -> None:
        """Give the class its new name, and its constructor the config."""
        node = self.node(cls)
        start = self.edits.span(node)[0]
        name = self.edits.text.index(cls.name, start)
        self.edits.put(name, name + len(cls.name), self.parts.new_name(cls))
        self.rename_parts(node)
        init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if init is not None and not takes_config(init):
            add_parameter(self.edits, init, "config")

    def rename_parts(self, node: ast.AST) -> None:
        """Name the distributed version of each class that has or gets one, where it is built."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and (target := self.renamed(part)) is not None:
                self.edits.replace(part, target[0])

    def renamed(self, name: ast.Name) -> tuple[str, str] | None:
        """The distributed version of the class that a name means, and the module that has it."""
        found = self.parts.project.resolve_expression(self.module, name)
        if not isinstance(found, ClassFacts):
            return None
        if found in self.stems:
            return self.parts.new_name(found), f"{found.module.name.rpartition('.')[0]}.{self.stems[found]}"
        there = self.parts.existing(found) if self.parts.is_split(found) else None
        return (there.name, there.module.name) if there is not None else None

    def imports(self, node: ast.AST) -> list[str]:
        """The imports of distributed versions in other files, for the names in a piece of code."""
        package = self.module.name.rpartition(".")[0]
        own = {f"{package}.{stem}" for cls, stem in self.stems.items() if cls.module is self.module}
        found = {
            target for part in ast.walk(node) if isinstance(part, ast.Name) and (target := self.renamed(part))
        }
        return [f"from {module} import {name}\n" for name, module in sorted(found) if module not in own]

    def _is_only_called(self, node: ast.ClassDef, attr: str) -> bool:
        """Whether a layer is used in no way but called; its weight, or itself as an argument, is another thing."""
        called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
        return all(
            id(part) in called
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute) and part.attr == attr and isinstance(part.ctx, ast.Load)
        )

    def _call(
        self,
        cls: ClassFacts,
        method: ast.FunctionDef,
        call: ast.Call,
        rows: dict[str, ast.Call],
        config: str,
    ) -> None:
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self":
            sizes = _linear_sizes(rows[func.attr]) if func.attr in rows else None
            if sizes is not None and not _is_few(sizes[0]):
                self.edits.insert(self.edits.span(call)[1], "[0]")
                if many_axes(self.parts, cls, method, call):
                    self._join_axes(call)
            return
        if call in rows.values():
            return
        if self.parts.is_linear(self.module, call):
            self.edits.mark(call, PLAIN, _OFF)
        elif self.parts.is_foreign(self.module, call):
            self.edits.mark(call, FOREIGN)
        else:
            self._part(call, config)

    def _join_axes(self, call: ast.Call) -> None:
        """Two axes in front of the layer and as many as before behind it: its backward takes three at most."""
        given, name = call.args[0], "given"
        if isinstance(given, ast.Name):
            name = given.id
            self.edits.insert(self.edits.span(given)[1], ".flatten(0, -2)")
        else:
            start, end = self.edits.span(given)
            self.edits.insert(start, f"({name} := ")
            self.edits.insert(end, ").flatten(0, -2)")
        self.edits.insert(self.edits.span(call)[1], f".unflatten(0, {name}.shape[:-1])")

    def _part(self, call: ast.Call, config: str) -> None:
        """A part that is split: its distributed style, or class, and the config."""
        part = self.parts.built(self.module, call)
        if part is None or not self.parts.is_split(part):
            return
        style, existing = self.parts.style(call), self.parts.existing(part)
        if style is not None:
            word = next(word for word in call.keywords if word.arg == "style")
            self.edits.replace(
                word.value,
                f'"{existing.name if existing is not None else self.parts.styled(style.name, part)}"',
            )
        if not any(word.arg == "config" for word in call.keywords):
            add_argument(self.edits, call, f"config={config}")

    def _as_row(self, call: ast.Call, config: str) -> bool:
        sizes = _linear_sizes(call)
        if sizes is None or _is_few(sizes[0]):
            self.edits.mark(call, PLAIN if sizes is None else SMALL, _OFF)
            return False
        bias = next((self.edits.source(word.value) for word in call.keywords if word.arg == "bias"), None)
        if len(call.args) > 2:
            bias = self.edits.source(call.args[2])
        indent = self.edits.indent(call)
        given = [
            self.edits.source(sizes[0]),
            self.edits.source(sizes[1]),
            f"config={config}",
            f"init_method={config}.init_method",
            f"bias={bias or 'True'}",
            "input_is_parallel=False",
            "skip_bias_add=False",
        ]
        body = "".join(f"{indent}    {text},\n" for text in given)
        self.edits.replace(call, f"RowParallelLinear(\n{body}{indent})")
        return True


def takes_config(init: ast.FunctionDef) -> bool:
    """Whether a constructor has a `config` already."""
    return any(arg.arg == "config" for arg in (*init.args.args, *init.args.kwonlyargs))


def _is_few(size: ast.expr) -> bool:
    return isinstance(size, ast.Constant) and isinstance(size.value, int) and size.value < _FEW


def _linear_sizes(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The sizes that a linear layer is built with; None where they cannot be read."""
    named = {word.arg: word.value for word in call.keywords}
    if None in named or set(named) - {"in_features", "out_features", "bias"}:
        return None
    sizes = [*call.args[:2]]
    sizes += [named[name] for name in ("in_features", "out_features")[len(sizes) :] if name in named]
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    return (sizes[0], sizes[1]) if len(sizes) == 2 and not starred else None

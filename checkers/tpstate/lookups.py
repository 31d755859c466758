"""What a name means: a variable, a module-level value, a name of a library."""

from __future__ import annotations

import ast
import re

from ..facts.module import ClassFacts, ModuleFacts
from ..project.own_attributes import written_anywhere
from ..project.project import External, FunctionRef, NamespaceRef, Ref, ValueRef
from . import expressions
from .callables import Func
from .frames import Frame
from .interpreter import Interpreter
from .values import UNKNOWN, Cls, Const, Heap, Known, Mod, Table, Value


def lookup(interp: Interpreter, frame: Frame, name: str) -> Value:
    """A variable: local, enclosing, module level, builtin."""
    if name in frame.vars:
        return frame.vars[name]
    if frame.closure is not None and name in frame.closure:
        return frame.closure[name]
    return global_value(interp, frame.module, name)


def global_value(interp: Interpreter, module: ModuleFacts, name: str) -> Value:
    """The value of a module-level name, computed once."""
    key = (id(module), name)
    if key not in interp.globals:
        if key in interp.reading:
            return UNKNOWN
        interp.reading.add(key)
        try:
            interp.globals[key] = of_ref(interp, interp.project.resolve(module, name), name)
        finally:
            interp.reading.discard(key)
    return interp.globals[key]


def of_ref(interp: Interpreter, ref: Ref | None, name: str) -> Value:
    """The value of a resolved name."""
    if ref is None:
        return Known(f"builtins.{name}")
    if isinstance(ref, ClassFacts):
        return Cls(ref.dotted, ref)
    if isinstance(ref, FunctionRef):
        return Func(ref.node, ref.module)
    if isinstance(ref, ModuleFacts):
        return Mod(ref, ref.name)
    if isinstance(ref, NamespaceRef):
        return Mod(None, ref.dotted)
    if isinstance(ref, External):
        return external(ref.dotted)
    key = (id(ref.module), f"={ref.name}:{ref.node.lineno}")
    if key not in interp.globals:
        if key in interp.reading:
            return UNKNOWN
        interp.reading.add(key)
        try:
            interp.globals[key] = _module_value(interp, ref)
        finally:
            interp.reading.discard(key)
    return interp.globals[key]


def _module_value(interp: Interpreter, ref: ValueRef) -> Value:
    if "global " in ref.module.text and re.search(rf"^[ \t]+global\b.*\b{ref.name}\b", ref.module.text, re.M):
        return UNKNOWN  # a function sets it anew
    frame = Frame(ref.module)
    outer = (interp.branch, interp.choice, interp.frame, interp.journals)
    interp.branch, interp.choice, interp.frame, interp.journals = {}, {}, frame, []
    try:
        value = expressions.evaluate(interp, frame, ref.node)
    finally:
        interp.branch, interp.choice, interp.frame, interp.journals = outer
    if isinstance(value, Heap) and isinstance(value.content, Table):
        grown = any(
            mark in ref.module.text
            for mark in (f"{ref.name}[", f"{ref.name}.update", f"{ref.name}.setdefault")
        )
        content = value.content
        written = grown and _is_written(ref.module.tree, ref.name)
        entries = content.entries
        if any(_is_switch(entry) for entry in entries.values()) and (
            written or _is_set_elsewhere(interp, ref)
        ):
            entries = {key: entry for key, entry in entries.items() if not isinstance(entry, Const)}
            written = True
        value.attrs["content"] = Table(entries, UNKNOWN if written else content.rest, ref.name)
    return value


def _is_switch(value: Value) -> bool:
    return isinstance(value, Const) and (value.value is None or isinstance(value.value, bool))


def _is_set_elsewhere(interp: Interpreter, ref: ValueRef) -> bool:
    """Whether another file sets the options that a module keeps in a dict."""
    name = re.escape(ref.name)
    sets = re.compile(rf"\b{name}(\.update\(|\.setdefault\(|\[[^\]\n]+\]\s*=[^=])")
    return written_anywhere(interp.project, ref.name, sets)


def _is_written(tree: ast.Module, name: str) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == name:
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == name:
                if node.func.attr in ("update", "setdefault"):
                    return True
    return False


def external(dotted: str) -> Value:
    """A name of a library: a class when it looks like one, else a function or constant."""
    owner, _, last = dotted.rpartition(".")
    is_constant = last.isupper() and owner != "torch.nn"  # nn.GELU and nn.ELU are classes
    if last[:1].isupper() and not is_constant:
        return Cls(dotted)
    return Known(dotted)

"""Attributes of `self` in a module class: what is set, what is read, and whether both can be told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import ClassFacts
from ..facts.nodes import children, walk
from ..files.prefilter import longest_word
from .project import External, Project

_OPEN = re.compile(
    r"setattr\(|__dict__|__getattr__|__getattribute__|\bvars\(|exec\(|update_wrapper|add_hook"
    r"|\.(register_buffer|register_parameter|register_module|add_module)\(\s*(?![\s'\"])"  # under a computed name
)

_FILLED = re.compile(r"\b(?!self\.)\w+\.__dict__(\s*=[^=]|\.update\()")

OF_MODULE = frozenset(
    """training parameters named_parameters modules named_modules children named_children buffers named_buffers
    state_dict load_state_dict register_buffer register_parameter register_module register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_state_dict_pre_hook register_backward_hook
    register_load_state_dict_post_hook register_full_backward_pre_hook register_state_dict_post_hook add_module apply
    train eval to to_empty cuda cpu xpu npu mtia ipu half float double bfloat16 type requires_grad_ zero_grad
    share_memory forward get_submodule get_parameter get_buffer set_submodule get_extra_state set_extra_state
    extra_repr compile dump_patches call_super_init register_load_state_dict_pre_hook""".split()
)
"""What every torch.nn.Module has."""

OF_MEGATRON_MODULE = frozenset(
    """config state_dict_for_save_checkpoint sharded_state_dict set_is_first_microbatch share_word_embeddings
    share_embeddings_and_output_weights initialize_word_embeddings initialize_embedding_or_output_weight
    setup_embeddings_and_output_layer shared_embedding_or_output_weight word_embeddings_weight pre_process
    post_process""".split()
)
"""What a MegatronModule has besides, in one release or another."""

_PLAIN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module", "object", "abc.ABC", "typing.Generic")
_CATCHES = re.compile(r"\b(AttributeError|Exception|BaseException)\b")


def is_closed(project: Project, cls: ClassFacts) -> bool:
    """Whether all attributes that instances have are seen: bases of the tree and nn.Module, nothing set by a name."""
    for entry in project.mro(cls):
        if isinstance(entry, External):
            if entry.dotted not in _PLAIN_BASES and not entry.dotted.endswith(".MegatronModule"):
                return False
        elif (
            _OPEN.search(entry.text)
            or _FILLED.search(entry.module.text)
            or entry.node.decorator_list
            or entry.node.keywords  # a metaclass may add to it
            or len(entry.node.bases) != _seen(project, entry)
        ):
            return False
    return not _is_extended(project, cls)


def _seen(project: Project, cls: ClassFacts) -> int:
    """How many bases are known; a base of the same name, imported and then hidden by the class, is not."""
    refs = [project.resolve_expression(cls.module, base) for base in cls.node.bases]
    return sum(ref is not None and ref is not cls for ref in refs)


def _is_extended(project: Project, cls: ClassFacts) -> bool:
    """Whether the class gets subclasses or attributes in a place where only the words of the code tell it."""
    name = re.escape(cls.name)
    if re.search(rf"(?m)^\s+class\s+\w+\([^)]*\b{name}\b", cls.module.text):
        return True  # a subclass in a function
    if project.files.unread_has(cls.name, re.compile(rf"class\s+\w+\([^)]*\b{name}\b")):
        return True
    changed = re.compile(rf"\bsetattr\([^()\n]*\b{name}\b|\btype\([^()]*\(?[^()]*\b{name}\b")
    return any(cls.name in module.words and changed.search(module.text) for module in project.modules)


def known(project: Project, cls: ClassFacts) -> set[str]:
    """Names that a class or one of its bases defines or sets, in whatever order."""
    found = set(OF_MODULE) | {"config"}
    for entry in project.mro(cls):
        if isinstance(entry, ClassFacts):
            found |= entry.methods.keys() | entry.constants.keys() | entry.annotations.keys()
            found |= {node.attr for node, _ in entry.of_self if not isinstance(node.ctx, ast.Load)}
            found |= set(_of_body(entry.node))
            found |= set(_handed_over(entry))
        elif entry.dotted.endswith(".MegatronModule"):
            found |= OF_MEGATRON_MODULE
    return found


def _of_body(node: ast.AST) -> Iterator[str]:
    """What the statements of a class bind, also those under a condition; not what its functions do."""
    for part in children(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).split(".")[0]
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif not isinstance(part, ast.Lambda):
            yield from _of_body(part)


def _handed_over(cls: ClassFacts) -> Iterator[str]:
    """What a function gets by name together with the object: `assign(self, width=width)` may set it."""
    for method in cls.methods.values() if "(self," in cls.text or "self,\n" in cls.text else ():
        for node in walk(method):
            if type(node) is ast.Call and node.keywords and isinstance(node.func, ast.Name):
                if any(isinstance(arg, ast.Name) and arg.id == "self" for arg in node.args):
                    yield from (word.arg for word in node.keywords if word.arg is not None)


def read_names(cls: ClassFacts) -> set[str]:
    """The attributes of `self` that the methods of a class read."""
    return {node.attr for node, _ in cls.of_self if isinstance(node.ctx, ast.Load)}


def reads(project: Project, cls: ClassFacts, names: set[str]) -> Iterator[ast.Attribute]:
    """Every `self.name` of these names that the methods of a class read when they run.

    Left out are reads that the constructor has refused, that a handler expects to fail, or behind a switch that is off.
    """
    found = [
        (node, method)
        for node, method in cls.of_self
        if node.attr in names and isinstance(node.ctx, ast.Load)
    ]
    if not found:
        return
    wanted = {id(node) for node, _ in found}
    left_out = {id(node) for node in (*_refused(cls), *_tried(cls), *_switched_off(project, cls, wanted))}
    for node, method in found:
        if id(node) not in left_out and _runs(project, cls, method):
            yield node


def _runs(project: Project, cls: ClassFacts, method: ast.FunctionDef) -> bool:
    """Whether something calls a method, on an instance of this class."""
    return project.knowledge(_Calls).runs(cls, method.name)


class _Calls:
    """Which methods the code of a tree names."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._called: dict[str, bool] = {}
        self._named: dict[tuple[str, str], bool] = {}

    def runs(self, cls: ClassFacts, name: str) -> bool:
        key = (cls.name, name)
        if key not in self._named:
            if name not in self._called:
                self._called[name] = self._is_called(name)
            self._named[key] = (self._called[name] or self._calls_itself(cls, name)) and not self._is_lent(
                cls.name, name
            )
        return self._named[key]

    def _is_called(self, name: str) -> bool:
        if (
            name.startswith("__")
            or name in OF_MODULE
            or name in OF_MEGATRON_MODULE
            or name == "set_input_tensor"
        ):
            return True
        of_other = (f".{name}", rf"(?<!\bself)\.{name}\b")
        asked = (of_other, *((f"{q}{name}{q}", f"{q}{name}{q}") for q in ("'", '"')))
        return any(written_anywhere(self._project, mark, re.compile(text)) for mark, text in asked)

    def _calls_itself(self, cls: ClassFacts, name: str) -> bool:
        """Whether the class or a base of it names its method; another class's `self.name` is another method."""
        named = re.compile(rf"\bself\.{name}\b")
        return any(
            named.search(entry.text) for entry in self._project.mro(cls) if isinstance(entry, ClassFacts)
        )

    def _is_lent(self, cls: str, name: str) -> bool:
        """`other.forward = Cls.forward`: its `self` may be another object."""
        return written_anywhere(self._project, f"{cls}.{name}", re.compile(rf"\b{cls}\.{name}\b(?!\s*\()"))


def _refused(cls: ClassFacts) -> Iterator[ast.AST]:
    """What stands under `if self.flag:` in a class whose constructor raises under the same test."""
    init = cls.methods.get("__init__")
    tests = {
        ast.unparse(node.test)
        for node in (init.body if init is not None else ())
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
    }
    for method in cls.methods.values() if tests else ():
        for node in walk(method):
            if isinstance(node, ast.If) and ast.unparse(node.test) in tests:
                for statement in node.body:
                    yield from walk(statement)


def _switched_off(project: Project, cls: ClassFacts, wanted: set[int]) -> Iterator[ast.AST]:
    """What stands under `if self.flag:` where False is all that the flag is ever set to, if some of it is wanted."""
    set_to: dict[str, list[ast.expr | None]] = {}
    for method in cls.methods.values():
        for node in walk(method):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for part in walk(target):
                        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                            set_to.setdefault(ast.unparse(part), []).append(node.value)
    off = {
        name
        for name, values in set_to.items()
        if all(isinstance(value, ast.Constant) and value.value is False for value in values)
    }
    for method in cls.methods.values() if off else ():
        for node in walk(method):
            if isinstance(node, ast.If) and ast.unparse(node.test) in off:
                inside = [part for statement in node.body for part in walk(statement)]
                is_wanted = not wanted.isdisjoint(map(id, inside))
                if is_wanted and not set_outside(project, node.test.attr):  # type: ignore[attr-defined]
                    yield from inside


def _tried(cls: ClassFacts) -> Iterator[ast.AST]:
    """What stands in a `try` that expects an AttributeError."""
    for method in cls.methods.values() if "except" in cls.text else ():
        for node in walk(method):
            if isinstance(node, ast.Try) and any(
                handler.type is None or _CATCHES.search(ast.unparse(handler.type))
                for handler in node.handlers
            ):
                for statement in node.body:
                    yield from walk(statement)


def set_outside(project: Project, name: str) -> bool:
    """Whether code sets the attribute on some other object, also in files with nothing parallel.

    `model.name = …`, `setattr(model, "name", …)`, and `self.name = …` in a function that is no method.
    """
    word = re.escape(name)
    asked = (
        (f".{name}", rf"\.{word}(?<!\bself\.{word})\s*(?::[^=\n]+|,[^=\n]*)?=[^=]"),
        (f"self.{name}", rf"(?m)self\.{word}(?:(?<=^self\.{word})|(?<=^    self\.{word}))\s*=[^=]"),
        *(
            (f"{q}{name}{q}", rf"\b(setattr|__setattr__|register_\w+|add_module)\([^\n]*{q}{word}{q}")
            for q in ("'", '"')
        ),
    )
    return any(written_anywhere(project, mark, re.compile(pattern)) for mark, pattern in asked)


def written_anywhere(project: Project, mark: str, pattern: re.Pattern[str]) -> bool:
    """Whether a file of the tree holds a pattern, which holds a plain text; also a file with nothing parallel."""
    word = longest_word(mark.encode()).decode()
    for module in project.modules:  # the words of a file are a tenth of it
        if word in module.words and mark in module.text and pattern.search(module.text):
            return True
    return project.files.unread_has(mark, pattern)

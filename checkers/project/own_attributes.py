"""Attributes of `self` in a module class: what is set, what is read, and whether both can be told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .project import External, Project

_OPEN = re.compile(
    r"setattr\(|__dict__|__getattr__|__getattribute__|\bvars\(|exec\(|update_wrapper|add_hook"
    r"|\.(register_buffer|register_parameter|register_module|add_module)\(\s*(?![\s'\"])"  # under a computed name
)

OF_MODULE = frozenset(
    """training parameters named_parameters modules named_modules children named_children buffers named_buffers
    state_dict load_state_dict register_buffer register_parameter register_module register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_state_dict_pre_hook register_backward_hook
    register_load_state_dict_post_hook register_full_backward_pre_hook register_state_dict_post_hook add_module apply
    train eval to to_empty cuda cpu xpu npu mtia ipu half float double bfloat16 type requires_grad_ zero_grad
    share_memory forward get_submodule get_parameter get_buffer set_submodule get_extra_state set_extra_state
    extra_repr compile dump_patches call_super_init""".split()
)
"""What every torch.nn.Module has."""

_PLAIN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module", "object", "abc.ABC", "typing.Generic")


def is_closed(project: Project, cls: ClassFacts) -> bool:
    """Whether all attributes that instances have are seen: bases of the tree and nn.Module, nothing set by a name."""
    for entry in project.mro(cls):
        if isinstance(entry, External):
            if entry.dotted not in _PLAIN_BASES and not entry.dotted.endswith(".MegatronModule"):
                return False
        elif (
            _OPEN.search(entry.text)
            or entry.node.decorator_list
            or len(entry.node.bases) != _seen(project, entry)
        ):
            return False
    return True


def _seen(project: Project, cls: ClassFacts) -> int:
    """How many bases are known; a base of the same name, imported and then hidden by the class, is not."""
    refs = [project.resolve_expression(cls.module, base) for base in cls.node.bases]
    return sum(ref is not None and ref is not cls for ref in refs)


def known(project: Project, cls: ClassFacts) -> set[str]:
    """Names that a class or one of its bases defines or sets, in whatever order."""
    found = set(OF_MODULE) | {"config"}
    for entry in project.mro(cls):
        if isinstance(entry, ClassFacts):
            found |= entry.methods.keys() | entry.constants.keys() | entry.annotations.keys()
            found |= {node.attr for node in _own(entry) if not isinstance(node.ctx, ast.Load)}
            found |= {
                node.name for node in entry.node.body if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)
            }
    return found


def reads(cls: ClassFacts) -> Iterator[ast.Attribute]:
    """Every `self.name` that the methods of a class read, but where the constructor has refused the case."""
    refused = {id(node) for node in _refused(cls)}
    for node in _own(cls):
        if isinstance(node.ctx, ast.Load) and not node.attr.startswith("_") and id(node) not in refused:
            yield node


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


def _own(cls: ClassFacts) -> Iterator[ast.Attribute]:
    for method in cls.methods.values():
        if any(ast.unparse(decorator) == "staticmethod" for decorator in method.decorator_list):
            continue  # its `self` is whatever it is given
        for node in walk(method):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ):
                yield node


def set_outside(project: Project, name: str) -> bool:
    """Whether code sets the attribute on some other object: `model.name = …`, also in files with nothing parallel."""
    pattern = re.compile(rf"(?<!\bself)\.{re.escape(name)}\s*(?:,[^=\n]*)?=[^=]")
    if any(f".{name}" in module.text and pattern.search(module.text) for module in project.modules):
        return True
    mark = f".{name}".encode()
    return any(
        mark in data and pattern.search(data.decode(errors="replace")) for data in project.files.unread()
    )

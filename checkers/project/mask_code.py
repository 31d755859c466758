"""How stages and their originals treat the land/sea mask."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from .origin import looks_like_mask
from .project import FunctionRef, Project, dotted_name

_CONSTANT = frozenset("ones zeros full ones_like zeros_like full_like".split())
_REDUCES = frozenset(
    """any all max min amax amin mean sum median mode adaptive_max_pool2d adaptive_avg_pool2d max_pool2d avg_pool2d
    interpolate""".split()
)
_LOADS = re.compile(
    r"isinstance\([^)]*\bstr\b|\b(np|numpy|torch)\.load\(|\bos\.PathLike|isinstance\([^)]*Path\b"
)
_ABSENT = re.compile(
    r"\bmask\w*\s+is\s+(not\s+)?None|\bif\s+(not\s+)?(self\.)?mask\w*\s*(:|else)|\bmask\w*\s*[!=]=\s*None"
)


def functions_used(project: Project, cls: ClassFacts) -> Iterator[tuple[ModuleFacts, ast.FunctionDef]]:
    """The methods of a class and the functions of the tree that it calls by name."""
    seen: set[int] = set()
    pending = [
        (entry.module, method)
        for entry in project.mro(cls)
        if isinstance(entry, ClassFacts)
        for method in entry.methods.values()
    ]
    while pending:
        module, function = pending.pop(0)
        if id(function) in seen:
            continue
        seen.add(id(function))
        yield module, function
        for node in walk(function):
            if isinstance(node, ast.Call) and len(seen) < 60:
                name = dotted_name(node.func)
                ref = project.resolve(module, name) if name is not None and "mask" in name.lower() else None
                if isinstance(ref, FunctionRef):
                    pending.append((ref.module, ref.node))


def mask_function(project: Project, cls: ClassFacts) -> tuple[ModuleFacts, ast.FunctionDef] | None:
    """The function by which a model computes its masks, None when it does not."""
    for module, function in functions_used(project, cls):
        if (
            looks_like_mask(function.name)
            and len(function.body) > 1
            and not function.name.startswith(("set_", "get_", "load_"))
        ):
            return module, function
    return None


def reductions(function: ast.FunctionDef) -> dict[str, ast.AST]:
    """How a mask is made coarser: the operations that join points, and the comparisons with a number."""
    found: dict[str, ast.AST] = {}
    for node in walk(function):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            if name in _REDUCES:
                found.setdefault(name, node)
        elif isinstance(node, ast.Compare) and isinstance(node.comparators[-1], ast.Constant):
            number = node.comparators[-1].value
            if isinstance(number, int | float) and not isinstance(number, bool):
                found.setdefault(f"{type(node.ops[-1]).__name__} {float(number)}", node)
    return found


def callers_of(project: Project, cls: ClassFacts, name: str) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """The calls of a function in the methods of a class, its own body left out."""
    for entry in project.mro(cls):
        for method in entry.methods.values() if isinstance(entry, ClassFacts) else ():
            for node in walk(method) if method.name != name else ():
                if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] == name:
                    yield method, node


def dicts_of_x(cls: ClassFacts) -> Iterator[tuple[ast.Dict, bool]]:
    """The `{"x": …}` that a class's methods hand on, and whether a mask that is not None is in it."""
    for method in cls.methods.values():
        for node in walk(method):
            keys = (
                [key.value for key in node.keys if isinstance(key, ast.Constant)]
                if isinstance(node, ast.Dict)
                else []
            )
            if isinstance(node, ast.Dict) and "x" in keys and len(keys) == len(node.keys):
                given = node.values[keys.index("mask")] if "mask" in keys else ast.Constant(None)
                yield node, not _is_none(method, given)


def _is_none(method: ast.FunctionDef, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value is None
    if not isinstance(value, ast.Name):
        return False
    targets = [
        node.value
        for node in walk(method)
        if isinstance(node, ast.Assign) and value.id in [ast.unparse(target) for target in node.targets]
    ]
    stored = [
        node
        for node in walk(method)
        if isinstance(node, ast.Name) and node.id == value.id and isinstance(node.ctx, ast.Store)
    ]
    return len(stored) == len(targets) > 0 and all(
        isinstance(made, ast.Constant) and made.value is None for made in targets
    )


def constant_masks(function: ast.FunctionDef) -> Iterator[ast.Assign]:
    """Masks that are filled with a constant and never written into afterwards."""
    written: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            written.add(dotted_name(node.value) or "")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr.endswith("_")
        ):
            written.add(dotted_name(node.func.value) or "")
    for node in walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        name = dotted_name(node.targets[0]) or ""
        maker = (dotted_name(node.value.func) or "").rsplit(".", 1)[-1]
        if maker in _CONSTANT and looks_like_mask(name.rsplit(".", 1)[-1]) and name not in written:
            yield node


def tests_for_no_mask(text: str) -> bool:
    """Whether code has a branch for a mask that is None."""
    return _ABSENT.search(text) is not None


def loads_path(project: Project, cls: ClassFacts) -> bool:
    """Whether the code of a class handles a mask given as a path."""
    return any(_LOADS.search(module.text_of(f)) for module, f in functions_used(project, cls))


def stays_array(project: Project, cls: ClassFacts) -> bool:
    """Whether a class loads the mask by numpy and nothing makes a tensor of it."""
    texts = [module.text_of(function) for module, function in functions_used(project, cls)]
    return any(re.search(r"\b(np|numpy)\.load\(", text) for text in texts) and not any(
        re.search(r"\b(tensor|as_tensor|from_numpy|FloatTensor|Tensor|register_buffer)\(", text)
        for text in texts
    )


def mask_parameter(cls: ClassFacts) -> ast.arg | None:
    """The constructor parameter that holds the full mask."""
    init = cls.methods.get("__init__")
    args = [*init.args.args, *init.args.kwonlyargs] if init is not None else []
    return next(
        (arg for arg in args if arg.arg in ("mask_full", "mask", "land_mask", "full_mask", "mask_path")), None
    )


TENSOR_ONLY = ("to", "float", "unsqueeze", "cuda", "view", "bool")
"""Methods that an array does not have."""


def first_use(
    project: Project,
    cls: ClassFacts,
    name: str,
    methods: tuple[str, ...] = ("shape", "to", "float", "size", "unsqueeze"),
) -> tuple[ModuleFacts, ast.AST] | None:
    """Where the full mask is used as an array: indexed, measured, or given to a function; or by a method alone."""
    alone = methods is TENSOR_ONLY
    for module, function in functions_used(project, cls):
        known = {name, f"self.{name}"}
        if (
            function.args.args
            and function.name != "__init__"
            and module is not cls.module
            and name not in {a.arg for a in function.args.args}
        ):
            continue
        for node in walk(function):
            if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Load):
                inner = dotted_name(node.value)
                if inner in known and (
                    not alone if isinstance(node, ast.Subscript) else node.attr in methods
                ):
                    return module, node
            elif (
                not alone
                and isinstance(node, ast.Call)
                and any(dotted_name(arg) in known for arg in node.args)
            ):
                called = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
                if (
                    called in ("tensor", "from_numpy", "as_tensor", "register_buffer", "interpolate")
                    or "mask" in called
                ):
                    return module, node
    return None

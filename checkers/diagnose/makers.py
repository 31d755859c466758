"""What a statement does to a value: hand it on, or make its shape, its dtype, a pair."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .callers import called, classes
from .sources import Sources, SourceText

_SHAPES = {
    "view", "reshape", "cat", "stack", "concat", "split", "chunk", "transpose", "permute", "narrow", "expand", "repeat",
    "flatten", "unflatten", "unsqueeze", "squeeze", "zeros", "ones", "empty", "full", "randn", "rand", "randint",
    "arange", "pad", "roll", "gather", "index_select", "repeat_interleave", "unbind", "movedim", "swapaxes", "outer",
    "einsum", "matmul", "bmm", "linspace", "mean", "sum", "topk", "scatter_to_sequence_parallel_region",
    "gather_from_sequence_parallel_region", "gather_from_tensor_model_parallel_region",
    "scatter_to_tensor_model_parallel_region", "reduce_scatter_to_sequence_parallel_region", "rearrange",
}  # fmt: skip
_DTYPES = {"float", "half", "bfloat16", "double", "to", "type", "long", "int", "type_as", "autocast"}
MADE = ("shapes-do-not-fit", "widths-do-not-fit", "dtype-mismatch", "pair-as-tensor", "other")
LOOPED = ("pair-as-tensor", "other", "unpacking", "attribute-missing", "list-as-tensor")
RETURNED = ("unpacking", "pair-as-tensor", "list-as-tensor", "value-is-none")
SHAPE_KINDS = ("shapes-do-not-fit", "widths-do-not-fit", "transpose-of-many", "index-out-of-range", "other")


def makes(value: ast.AST, kind: str) -> bool:
    """Whether an expression makes what this kind of failure is about."""
    wanted = _SHAPES if kind in SHAPE_KINDS else _DTYPES if kind == "dtype-mismatch" else set()
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and called(node) in wanted:
            return True
        if kind in SHAPE_KINDS and isinstance(node, ast.Slice):
            return True
        if kind == "dtype-mismatch" and isinstance(node, ast.keyword) and node.arg == "dtype":
            return True
    return False


_SAME_SHAPE = {
    "bool",
    "float",
    "contiguous",
    "detach",
    "clone",
    "long",
    "half",
    "bfloat16",
    "int",
    "cuda",
    "to",
}


def renames(value: ast.AST) -> bool:
    """Whether an expression is another local name, at most converted: seldom written on purpose."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _SAME_SHAPE
    ):
        value = value.func.value
    return isinstance(value, ast.Name)


_ENDS = (("first", "last"), ("last", "first"), ("pre", "post"), ("post", "pre"))


def said_otherwise(function: ast.FunctionDef) -> Iterator[int]:
    """Assignments whose name says one end of the pipeline and whose value asks for the other."""
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
        ):
            name, asked = node.targets[0].id, called(node.value)
            if any(
                one in name and other not in name and other in asked and one not in asked
                for one, other in _ENDS
            ):
                yield node.lineno


def targets_alone(made: ast.stmt) -> set[str]:
    """The name that an assignment sets, where it is one and another than the value's own."""
    target = made.targets[0] if isinstance(made, ast.Assign) else None
    value = getattr(made, "value", None)
    read = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)} if value is not None else set()
    return {target.id} - read if isinstance(target, ast.Name) else set()


def hands_on(value: ast.AST) -> bool:
    """Whether an expression only fetches: a name, an attribute, an entry, a call with such arguments."""
    return not isinstance(value, ast.Constant) and not any(
        isinstance(
            node, (ast.BinOp, ast.Slice, ast.Compare, ast.Dict, ast.List, ast.ListComp, ast.IfExp, ast.BoolOp)
        )
        for node in ast.walk(value)
    )


def layer_inputs(value: ast.AST) -> set[str]:
    """Names that reach an expression only through a layer, which gives them another shape."""
    return {
        part.id
        for call in ast.walk(value)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("self.")
        for argument in call.args
        for part in ast.walk(argument)
        if isinstance(part, ast.Name)
    }


def exclusive(first: ast.stmt, second: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether two statements stand in different branches of one test."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and node.orelse:
            sides = [
                {id(part) for made in side for part in ast.walk(made)} for side in (node.body, node.orelse)
            ]
            if any(id(first) in one and id(second) in other for one, other in (sides, sides[::-1])):
                return True
    return False


def entries(key: str, sources: Sources) -> Iterator[tuple[SourceText, ast.stmt | ast.Dict, ast.expr, int]]:
    """Where a key of a dict is given its value: `x["key"] = …`, `{"key": …}`."""
    for source in sources.having(f'"{key}"'):
        for node in source.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript) and _constant(target.slice) == key:
                        yield source, node, node.value, node.lineno
            elif isinstance(node, ast.Dict):
                for name, value in zip(node.keys, node.values, strict=True):
                    if name is not None and _constant(name) == key:
                        yield source, node, value, name.lineno


def keys_of(value: ast.AST) -> Iterator[tuple[str, str]]:
    """The entries that an expression reads: name and key of `batch["mask"]`, `raw.pop("mask")`."""
    for node in ast.walk(value):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
        ):
            key = _constant(node.slice)
            if key:
                yield node.value.id, key
        elif isinstance(node, ast.Call) and called(node) in ("pop", "get") and node.args:
            owner, key = getattr(node.func, "value", None), _constant(node.args[0])
            if key and isinstance(owner, ast.Name):
                yield owner.id, key


def _constant(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def forward_of(
    cls: ast.ClassDef, sources: Sources, depth: int = 0
) -> tuple[SourceText, ast.FunctionDef] | None:
    """The forward of a class of this name, its own or that of a base."""
    for source, found in classes(cls.name, sources):
        if found is cls:
            for part in cls.body:
                if isinstance(part, ast.FunctionDef) and part.name == "forward":
                    return source, part
    for base in cls.bases if depth < 3 else ():
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        for _, above in classes(name, sources):
            inherited = forward_of(above, sources, depth + 1)
            if inherited is not None:
                return inherited
    return None


def own_construction(cls: ast.ClassDef) -> int | None:
    """The line of `super().__init__(…)` of a class that says no more than this."""
    for part in cls.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            made = [stmt for stmt in part.body if "super().__init__(" in ast.unparse(stmt)]
            if (
                made
                and isinstance(made[0], ast.Expr)
                and isinstance(made[0].value, ast.Call)
                and made[0].value.args
            ):
                return made[0].lineno
    return None

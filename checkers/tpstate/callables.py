"""The abstract values that can be called: functions, methods, partials and `super()`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from .values import Tensor, Value


@dataclass(eq=False, slots=True)
class Func(Value):
    """A function or lambda of the tree with the frame it closes over."""

    node: ast.FunctionDef | ast.Lambda
    module: ModuleFacts
    closure: dict[str, Value] | None = None
    owner: ClassFacts | None = None


@dataclass(eq=False, slots=True)
class Bound(Value):
    """A method bound to its object."""

    func: Func
    self: Value


@dataclass(eq=False, slots=True)
class Partial(Value):
    """functools.partial"""

    func: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(unsafe_hash=True, slots=True)
class TensorMethod(Value):
    owner: Tensor
    name: str


@dataclass(eq=False, slots=True)
class ObjMethod(Value):
    """A method of an object whose class is not in the tree (list.append, dict.get, nn.Module.to)."""

    owner: Value
    name: str


@dataclass(unsafe_hash=True, slots=True)
class Super(Value):
    obj: Value
    after: ClassFacts

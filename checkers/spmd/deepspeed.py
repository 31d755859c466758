"""Losses that are handed to DeepSpeed's engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.nodes import as_code
from .frames import Frame


def divided_before_engine(frame: Frame) -> Iterator[ast.BinOp]:
    """`engine.backward(loss / engine.gradient_accumulation_steps())`: the engine divides by them itself."""
    for call in frame.scope.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or len(call.args) != 1:
            continue
        engine, given = as_code(call.func.value), call.args[0]
        made = frame.scope.bound.get(given.id, []) if isinstance(given, ast.Name) else [given]
        for value in made:
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
                if as_code(value.right) == f"{engine}.gradient_accumulation_steps()":
                    yield value

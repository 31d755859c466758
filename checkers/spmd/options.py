"""What a call is given by `**options`, and the property that an attribute of the own object runs."""

from __future__ import annotations

import ast

from ..facts.nodes import as_code
from ..project.project import dotted_name
from .frames import Frame


def spread(frame: Frame, call: ast.Call) -> dict[str, ast.expr] | None:
    """The keywords of a call, those of `**options` too; None where a dict that is spread cannot be seen."""
    given: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        if keyword.arg is not None:
            given[keyword.arg] = keyword.value
            continue
        held = frame.definitions(keyword.value)
        made = held[0][0] if len(held) == 1 and held[0][1] is frame else None
        if isinstance(made, ast.Dict) and all(isinstance(key, ast.Constant) for key in made.keys):
            given |= {
                str(key.value): value  # type: ignore[union-attr]
                for key, value in zip(made.keys, made.values, strict=True)
            }
        elif isinstance(made, ast.Call) and as_code(made.func) == "dict" and not made.args:
            given |= {word.arg: word.value for word in made.keywords if word.arg is not None}
        else:
            return None
    return given


def asked(frame: Frame, node: ast.expr) -> Frame | None:
    """The property of the own class that `self.x` runs."""
    if frame.cls is None or not isinstance(node, ast.Attribute) or dotted_name(node.value) != "self":
        return None
    found = frame.project.method(frame.cls, node.attr)
    if found is None or not any(as_code(entry).endswith("property") for entry in found[1].decorator_list):
        return None
    return Frame(frame.project, frame.scope_of(found[0].module, found[1]), frame.cls, {}, frame.depth + 1)

"""E7302"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.dict_interface import (
    DictForward,
    dict_forwards,
    is_replaced,
    object_branch_keeps_object,
    stale_block_calls,
)
from ..project.origin import looks_like_mask
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import head
from ..tpstate.events import Site
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FuserInputNotNormalized(Rule):
    """A fuser does not bring its input into one form: dict or object in, dict on to the blocks, updated by each."""

    code, symbol = "E7302", "fuser-input-not-normalized"
    message = "`%(cls)s.forward` %(problem)s"
    advice = "%(hint)s"
    why = (
        "Stages pass a dict, older models an object. Each block reads `x` from what it is given: the wrong form fails, "
        "and a dict that is not updated gives every block the input of the first."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "TypeError: 'SimpleNamespace' object is not subscriptable; or no error and one block's worth of change"
    limits = "Only classes named as fusers whose forward reads `x` from its parameter; tensor-only fusers are right."
    guide = "Principle 12: one forward interface for fusers"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, obj):  # [fuser-input-not-normalized]
            x = obj["x"]
            for block in self.blocks:
                x = block(obj)  # [fuser-input-not-normalized]
            return x
    """
    good = """
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, obj):
            if isinstance(obj, dict):
                x = obj["x"]
            else:
                x = obj.x
                obj = {"x": x, "mask": getattr(obj, "mask", None)}
            for block in self.blocks:
                x = block(obj)
                obj["x"] = x
            return x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for forward in dict_forwards(analysis.project):
            if "Fuser" in forward.cls.name:
                yield from self._check(forward)

    def _check(self, forward: DictForward) -> Iterator[Finding]:
        cls, name = forward.cls, forward.name
        only = _handles_only(forward)
        if only:
            forms = (tr("a dict"), tr("an object")) if only == "dict" else (tr("an object"), tr("a dict"))
            yield self.finding(
                head(Site(cls.module, forward.method), forward.method),
                object=cls.name,
                cls=cls.name,
                problem=tr("handles only %(forms)s, not %(other)s", forms=forms[0], other=forms[1]),
                hint=tr("Test `isinstance(%(name)s, dict)` and turn an object into a dict first.", name=name),
            )
        kept = object_branch_keeps_object(forward)
        if kept is not None:
            yield self.finding(
                head(Site(cls.module, kept), kept),
                object=cls.name,
                cls=cls.name,
                problem=tr("hands an object on to its blocks as it is"),
                hint=tr('Rebuild it here: `%(name)s = {"x": x, "mask": mask}`.', name=name),
            )
        for node in forward.nodes:
            if (
                isinstance(node, ast.Return)
                and node.value is not None
                and _returns_whole(forward, node.value)
            ):
                yield self.finding(
                    place_of(cls.module, node),
                    object=cls.name,
                    cls=cls.name,
                    problem=tr(
                        "returns `%(value)s`, where its caller takes a tensor", value=ast.unparse(node.value)
                    ),
                    hint=tr("Return the tensor alone: `return x`."),
                )
        for call in stale_block_calls(forward):
            yield self.finding(
                place_of(cls.module, call),
                object=cls.name,
                cls=cls.name,
                problem=tr("gives every block the same `%(name)s`", name=name),
                hint=tr('Store the result for the next block: `%(name)s["x"] = x`.', name=name),
            )


def _returns_whole(forward: DictForward, value: ast.expr) -> bool:
    """Whether a forward hands back the dict itself, or `x` and the mask, and is one of a chain that hands back `x`."""
    if isinstance(value, ast.Tuple):
        names = [item.id for item in value.elts if isinstance(item, ast.Name)]
        return len(names) == len(value.elts) == 2 and looks_like_mask(names[1])
    return forward.is_obj(value) and forward.branches is not None


def _handles_only(forward: DictForward) -> str:
    """Which form alone is read: dict, object, or empty where both are, or where the input is replaced."""
    told_apart = forward.mentions("isinstance(") or forward.mentions("hasattr(")
    if forward.branches is not None or told_apart or is_replaced(forward):
        return ""
    keys = any(forward.is_key(node, "x") for node in forward.nodes)
    attributes = any(
        isinstance(node, ast.Attribute) and node.attr == "x" and forward.is_obj(node.value)
        for node in forward.nodes
    )
    return "" if keys == attributes else "dict" if keys else "object"

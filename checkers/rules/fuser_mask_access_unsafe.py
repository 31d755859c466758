"""E7301"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import children
from ..finding import Finding, Fix
from ..language import tr
from ..project.dict_interface import DictForward, dict_forwards, objects_with_mask, unsafe_mask_reads
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import lines_after, replace, safe, statement_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FuserMaskAccessUnsafe(Rule):
    """A forward of the dict interface reads the mask as if there always were one."""

    code, symbol = "E7301", "fuser-mask-access-unsafe"
    message = "`%(read)s` in `%(cls)s.forward` fails where no mask is given"
    advice = "%(hint)s"
    why = "Models without a land-sea mask call the same modules and leave the mask out: it has to default to None."
    symptom = Symptom.CRASH
    runtime = "KeyError: 'mask', or AttributeError: no attribute 'mask'"
    limits = (
        "Silent after a test for the mask, where the forward itself stored one before, and where every object "
        "of the tree that holds `x` holds `mask` too; undecided where there is none."
    )
    guide = "Principle 12: one forward interface for fusers"
    scope = Scope.GUIDE
    fix_kind = "safe"
    fix_note = "Where a mask is given nothing changes; where none is given, the access fails today."

    bad = """
    from types import SimpleNamespace

    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, obj):
            if isinstance(obj, dict):
                x = obj["x"]
                mask = obj["mask"]  # [fuser-mask-access-unsafe]
            else:
                x = obj.x
                mask = obj.mask  # [fuser-mask-access-unsafe]
                obj = {"x": x, "mask": mask}
            return x if mask is None else x * mask


    def run(fuser, x):
        return fuser(SimpleNamespace(x=x))
    """
    good = """
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, obj):
            if isinstance(obj, dict):
                x = obj["x"]
                mask = obj.get("mask")
            else:
                x = obj.x
                mask = getattr(obj, "mask", None)
                obj = {"x": x, "mask": mask}
            return x if mask is None else x * mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        objects = objects_with_mask(analysis.project)
        for forward in dict_forwards(analysis.project):
            for node in unsafe_mask_reads(forward):
                by_key = forward.is_key(node, "mask")
                if not by_key and objects is True:
                    continue
                name = forward.name
                safe_read = f'{name}.get("mask")' if by_key else f'getattr({name}, "mask", None)'
                hint, fix = _repair(forward, node, safe_read)
                yield self.finding(
                    place_of(forward.cls.module, node),
                    object=forward.cls.name,
                    fix=fix,
                    hint=hint,
                    decided=by_key or objects is False or _is_optional(forward),
                    read=f'{name}["mask"]' if by_key else f"{name}.mask",
                    cls=forward.cls.name,
                )


def _is_optional(forward: DictForward) -> bool:
    """Whether the forward itself says of dicts that they may lack the mask: objects then may, too."""
    return f'{forward.name}.get("mask"' in forward.cls.module.text_of(forward.method)


def _repair(forward: DictForward, node: ast.expr, safe_read: str) -> tuple[str, Fix | None]:
    """What to type, in words and as edits: where something is done with the mask at once, under a test for None."""
    module = forward.cls.module
    parents = {id(child): part for part in forward.nodes for child in children(part)}
    whole: ast.AST = node
    while isinstance(parents.get(id(whole)), ast.Attribute | ast.Call | ast.Subscript):
        around = parents[id(whole)]
        if getattr(around, "func", getattr(around, "value", None)) is not whole:
            break
        whole = around
    if whole is node and not isinstance(parents.get(id(node)), ast.BinOp | ast.UnaryOp):
        return tr("Write `%(safe_read)s`.", safe_read=safe_read), safe(replace(module, node, safe_read))
    statement = statement_of(module, node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    done = ast.unparse(whole) if whole is not node else ""
    if isinstance(target, ast.Name) and isinstance(statement, ast.Assign) and statement.value is whole:
        then = f"{target.id} = {target.id}{done.removeprefix(ast.unparse(node))}"
        edits = (
            replace(module, whole, safe_read),
            lines_after(module, statement, f"if {target.id} is not None:", f"    {then}"),
        )
        return tr(
            "Write `%(id)s = %(safe_read)s`, and then `if %(id)s is not None: %(then)s`.",
            id=target.id,
            safe_read=safe_read,
            then=then,
        ), safe(*edits)
    return tr(
        "Write `mask = %(safe_read)s` first, and use it only under `if mask is not None:`.",
        safe_read=safe_read,
    ), None

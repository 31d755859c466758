"""E7202"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..project.project import Project
from ..project.stage_classes import hidden_base
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import lines_below, replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageSetInputTensorMissing(Rule):
    """A stage has no `set_input_tensor` that stores what the previous stage sent."""

    code, symbol = "E7202", "stage-set-input-tensor-missing"
    message = "stage `%(cls)s` has no `set_input_tensor` that stores its argument"
    advice = "Add `def set_input_tensor(self, input_tensor): self.input_tensor = input_tensor`."
    why = "The pipeline schedule hands the received tensors over by this method, also to the first stage."
    symptom = Symptom.CRASH
    runtime = "RuntimeError: _get_attr_wrapped_model couldn't find attribute set_input_tensor"
    limits = "Only classes named or mapped as stages. Silent where a base class outside the tree may define the method."
    guide = "1.2: set_input_tensor"
    fix_kind = "safe"
    fix_note = "The schedule calls it and fails today."

    bad = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):  # [stage-set-input-tensor-missing]
        def __init__(self, dim, config=None):
            super().__init__()
            self.input_tensor = None
            self.layer = nn.Linear(dim, dim)

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """
    good = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.input_tensor = None
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            cls = stage.cls
            if not stage.is_one_of_several or hidden_base(analysis.project, cls):
                continue
            found = analysis.project.method(cls, "set_input_tensor")
            if found is None and "set_input_tensor" not in cls.constants:
                setter = (
                    "",
                    "def set_input_tensor(self, input_tensor):",
                    "    self.input_tensor = input_tensor",
                )
                last = cls.node.body[-1]
                yield self.finding(
                    place_of(cls.module, cls.node),
                    object=cls.name,
                    fix=safe(lines_below(cls.module, last, *setter)),
                    cls=cls.name,
                )
            elif found is not None and found[0] is cls and not _uses_argument(found[1]):
                last = found[1].body[-1]
                is_reached = not isinstance(last, ast.Return | ast.Raise)
                stored = f"self.input_tensor = {found[1].args.args[1].arg}"
                yield self.finding(
                    place_of(cls.module, found[1]),
                    object=cls.name,
                    fix=safe(lines_below(cls.module, last, stored)) if is_reached else None,
                    cls=cls.name,
                )
            elif found is not None and (kept := _kept(found[1])) is not None:
                yield from self._kept_elsewhere(analysis.project, cls, found[0], *kept)

    def _kept_elsewhere(
        self, project: Project, cls: ClassFacts, holder: ClassFacts, stored: ast.Attribute, value: ast.expr
    ) -> Iterator[Finding]:
        """What is stored under a name that nothing reads, or the first tensor where the forward unpacks several."""
        entries = [entry for entry in project.mro(cls) if isinstance(entry, ClassFacts)]
        if any(project.is_framework(entry.module) for entry in entries):
            return
        reads = [
            node
            for entry in entries
            for method in entry.methods.values()
            for node in walk(method)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node.value) == "self"
        ]
        names = {node.attr for node in reads}
        if stored.attr not in names and stored.attr != "input_tensor" and "input_tensor" in names:
            yield self.finding(
                place_of(holder.module, stored),
                object=cls.name,
                fix=safe(replace(holder.module, stored, "self.input_tensor")),
                message="`set_input_tensor` of `%(cls)s` stores under `%(mine)s`, and the forward reads "
                "`self.input_tensor`",
                advice="Store it under the name that the forward reads: `self.input_tensor = %(value)s`.",
                cls=cls.name,
                mine=ast.unparse(stored),
                value=ast.unparse(value),
            )
        count = _unpacked(cls, stored.attr) if _is_first_item(value) else None
        if count is not None:
            whole = ast.unparse(value.value) if isinstance(value, ast.Subscript) else ""
            yield self.finding(
                place_of(holder.module, value),
                object=cls.name,
                fix=safe(replace(holder.module, value, whole)),
                message="`set_input_tensor` of `%(cls)s` keeps one tensor of those received, and the forward unpacks "
                "%(count)s",
                advice="Store all of them: `%(mine)s = %(value)s`.",
                cls=cls.name,
                count=count,
                mine=ast.unparse(stored),
                value=whole,
            )


def _kept(method: ast.FunctionDef) -> tuple[ast.Attribute, ast.expr] | None:
    """The attribute that the one assignment of a setter fills, and with what."""
    body = [
        part
        for part in method.body
        if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]
    only = body[0] if len(body) == 1 else None
    if (
        not isinstance(only, ast.Assign)
        or len(only.targets) != 1
        or not isinstance(only.targets[0], ast.Attribute)
    ):
        return None
    return (only.targets[0], only.value) if ast.unparse(only.targets[0].value) == "self" else None


def _is_first_item(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Subscript)
        and isinstance(value.value, ast.Name)
        and isinstance(value.slice, ast.Constant)
        and type(value.slice.value) is int
    )


def _unpacked(cls: ClassFacts, attr: str) -> int | None:
    """Into how many names the methods of a class unpack an attribute, where all say the same."""
    counts = set()
    for method in cls.methods.values():
        assigned = [node for node in walk(method) if isinstance(node, ast.Assign)]
        aliases = {as_code(node.targets[0]) for node in assigned if as_code(node.value) == f"self.{attr}"}
        for node in assigned:
            if isinstance(node.targets[0], ast.Tuple) and _whole(node.value) & {f"self.{attr}", *aliases}:
                counts.add(len(node.targets[0].elts))
    return counts.pop() if len(counts) == 1 else None


def _whole(value: ast.expr) -> set[str]:
    """What is unpacked as a whole: `received`, `tuple(received)`, either side of a test."""
    if isinstance(value, ast.IfExp):
        return _whole(value.body) | _whole(value.orelse)
    inner = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
    return {as_code(inner)}


def _uses_argument(method: ast.FunctionDef) -> bool:
    spec = method.args
    if spec.vararg is not None or len(spec.args) < 2:
        return True
    name = spec.args[1].arg
    return any(isinstance(node, ast.Name) and node.id == name for part in method.body for node in walk(part))

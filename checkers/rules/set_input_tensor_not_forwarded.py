"""E7230"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.boundary import Boundaries
from ..project.project import Project, dotted_name
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SetInputTensorNotForwarded(Rule):
    """A stage stores what it received, but the inner module that reads it never gets it."""

    code, symbol = "E7230", "set-input-tensor-not-forwarded"
    message = (
        "`%(cls)s` keeps what it received; `self.%(name)s` (`%(inner)s`) reads its own `input_tensor`, which "
        "stays None"
    )
    advice = "Write `%(typed)s` here."
    why = (
        "The schedule calls `set_input_tensor` on the outermost module only. What stands below must be given "
        "the tensor by hand."
    )
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'NoneType' object has no attribute 'size' in the trunk of a later stage"
    limits = "Silent where the outer forward reads the received tensor itself."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Whether the inner module takes the list or its first tensor is for a reader to say."

    bad = """
    from torch import nn


    class Trunk(nn.Module):
        def __init__(self, dim, pre_process):
            super().__init__()
            self.pre_process, self.input_tensor = pre_process, None
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, tensor):
            self.input_tensor = tensor

        def forward(self, x):
            return self.layer(x if self.pre_process else self.input_tensor)


    class NetStage(nn.Module):
        def __init__(self, dim, pre_process):
            super().__init__()
            self.trunk = Trunk(dim, pre_process)

        def set_input_tensor(self, tensors):
            self.input_tensor = tensors[0]  # [set-input-tensor-not-forwarded]

        def forward(self, x=None):
            return self.trunk(x)
    """
    good = """
    from torch import nn


    class Trunk(nn.Module):
        def __init__(self, dim, pre_process):
            super().__init__()
            self.pre_process, self.input_tensor = pre_process, None
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, tensor):
            self.input_tensor = tensor

        def forward(self, x):
            return self.layer(x if self.pre_process else self.input_tensor)


    class NetStage(nn.Module):
        def __init__(self, dim, pre_process):
            super().__init__()
            self.trunk = Trunk(dim, pre_process)

        def set_input_tensor(self, tensors):
            self.trunk.set_input_tensor(tensors[0])

        def forward(self, x=None):
            return self.trunk(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for flow in project.knowledge(Boundaries):
            cls = flow.stage.cls
            setter = cls.methods.get("set_input_tensor")
            if (
                setter is None
                or flow.reads_input
                or "set_input_tensor(" in cls.text.replace("def set_input_tensor(", "")
            ):
                continue
            called = {seen.text for trace in flow.traces for seen in trace.plain_calls}
            called |= {name for trace in flow.traces for name in trace.checkpointed}
            stored = next((node for node in walk(setter) if isinstance(node, ast.Assign)), None)
            for name, inner in _inner_modules(project, cls):
                if stored is not None and name in called and _reads_own(project, inner):
                    where = place_of(cls.module, stored)
                    typed = f"self.{name}.set_input_tensor({ast.unparse(stored.value)})"
                    yield self.finding(
                        where,
                        object=cls.name,
                        fix=unsafe(replace(cls.module, stored, typed)),
                        cls=cls.name,
                        name=name,
                        inner=inner.name,
                        typed=typed,
                    )


def _inner_modules(project: Project, cls: ClassFacts) -> Iterator[tuple[str, ClassFacts]]:
    """Attributes that the constructor binds to a module of the tree with a `set_input_tensor` of its own."""
    init = cls.methods.get("__init__")
    for node in walk(init) if init is not None else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Attribute)
        ):
            ref = project.resolve(cls.module, dotted_name(node.value.func) or "")
            if isinstance(ref, ClassFacts) and project.method(ref, "set_input_tensor") is not None:
                yield node.targets[0].attr, ref


def _reads_own(project: Project, cls: ClassFacts) -> bool:
    forward = project.method(cls, "forward")
    if forward is None:
        return False
    lines = forward[0].module.lines[forward[1].lineno - 1 : forward[1].end_lineno]
    return re.search(r"self\.input_tensor\b", "\n".join(lines)) is not None

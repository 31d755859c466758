"""E7547"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import FunctionRef
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..spmd.instances import class_of
from ..tpstate.fixes import replace, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CALLS = re.compile(r"\b(load|save)_checkpoint\(")
_OF_MEGATRON = re.compile(r"(^|\.)megatron\.(training\.)?(checkpointing\.)?(load|save)_checkpoint$")
_PLACE = {"load_checkpoint": ("ddp_model", 0), "save_checkpoint": ("model", 1)}


class CheckpointModelNotList(Rule):
    """Megatron's checkpoint functions get a model where they want the list of its parts."""

    code, symbol = "E7547", "checkpoint-model-not-list"
    message = (
        "`%(call)s` gets the module `%(name)s`, a `%(cls)s`; Megatron counts the parts of a list of modules"
    )
    advice = "Give it a list: `[%(name)s]`."
    why = (
        "With virtual stages a rank holds several parts of a model, so Megatron's checkpoint functions take a list, as "
        "`get_model` returns it, and ask for its length."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: object of type 'Net' has no len()"
    limits = "Silent where the value does not surely come from the constructor of a module of the tree."
    guide = "beyond the guide"
    fix_kind = "safe"
    fix_note = "The call fails without it."

    bad = """
    from megatron.training.checkpointing import load_checkpoint
    from megatron.training.initialize import initialize_megatron
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(x)


    def restore():
        initialize_megatron()
        model = Net().cuda()
        load_checkpoint(model, None, None)  # [checkpoint-model-not-list]
        return model
    """
    good = """
    from megatron.training.checkpointing import load_checkpoint
    from megatron.training.initialize import initialize_megatron
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(x)


    def restore():
        initialize_megatron()
        model = Net().cuda()
        load_checkpoint([model], None, None)
        return model
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for frame in functions(project, _CALLS):
            for node in frame.scope.calls:
                name = _name(node.func, frame)
                if not name:
                    continue
                given = frame.argument(node, *_PLACE[name])
                cls = class_of(given, frame) if given is not None else None
                if given is None or cls is None or not project.is_module_class(cls):
                    continue
                if project.method(cls, "__len__") is None:
                    yield self.finding(
                        place_of(frame.module, given),
                        object=frame.function_name,
                        evidence=(
                            Evidence(
                                cls.module.display, cls.node.lineno, tr("`%(cls)s` is no list", cls=cls.name)
                            ),
                        ),
                        fix=safe(replace(frame.module, given, f"[{ast.unparse(given)}]")),
                        call=name,
                        name=ast.unparse(given),
                        cls=cls.name,
                    )


def _name(func: ast.expr, frame: Frame) -> str:
    """Which of the framework's functions is called, or an empty text."""
    ref = frame.ref(func)
    dotted = ref.dotted if isinstance(ref, FunctionRef) else frame.external(func)
    return dotted.rsplit(".", 1)[-1] if _OF_MEGATRON.search(dotted) else ""

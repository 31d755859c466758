"""R7217"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, Import, ModuleFacts
from ..facts.nodes import walk
from ..finding import Edit, Finding, Fix
from ..language import tr
from ..project.boundary import Boundaries
from ..project.flow import Seen
from ..project.project import Project, dotted_name
from ..project.registries import registries, written_style
from ..project.stage_classes import is_declared
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import add_import, framework_of, replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_HEAVY = re.compile(r"Fuser|Transformer|Encoder(Layer|Block)?$|Block$")


class StageNotCheckpointed(Rule):
    """A fuser or transformer of a stage runs without activation checkpointing."""

    code, symbol = "R7217", "stage-not-checkpointed"
    message = "`%(cls)s` runs `self.%(name)s` without activation checkpointing"
    advice = "%(hint)s"
    why = (
        "The activations of a stack of blocks are what fills the memory of a stage; recomputing them costs a "
        "third more time and frees most of it."
    )
    symptom = Symptom.COST
    runtime = "out of memory on the stage with the largest layers"
    limits = (
        "Layers whose class or style is a fuser, transformer or encoder. Silent where a branch of the forward "
        "checkpoints the layer, or where the layer is told to recompute."
    )
    guide = "1.4 and principle 9 (balance): every fuser is checkpointed"
    scope = Scope.GUIDE
    fix_kind = "unsafe"
    fix_note = "Time for memory, and dropout needs the states of Megatron's random numbers."

    bad = """
    from onescience.modules import OneFuser
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer1 = OneFuser(style="NetDistributedFuser", dim=dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer1(x)  # [stage-not-checkpointed]
    """
    good = """
    from megatron.core.tensor_parallel import checkpoint
    from onescience.modules import OneFuser
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer1 = OneFuser(style="NetDistributedFuser", dim=dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return checkpoint(self.layer1, False, x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            cls = flow.stage.cls
            if not is_declared(flow.stage):
                continue
            heavy = _heavy_layers(analysis.project, cls)
            wrapped = set().union(*(trace.checkpointed for trace in flow.traces))
            seen_calls = {
                (seen.text, id(seen.node)): seen for trace in flow.traces for seen in trace.plain_calls
            }
            for seen in seen_calls.values():
                if seen.text in heavy and seen.text not in wrapped:
                    where = place_of(seen.module, seen.node)
                    hint, fix = _wrapped(seen)
                    yield self.finding(
                        where, object=cls.name, fix=fix, cls=cls.name, name=seen.text, hint=hint
                    )


def _wrapped(seen: Seen) -> tuple[str, Fix | None]:
    """The call under the checkpoint of the file, with the arguments that it has."""
    module, call = seen.module, seen.node
    if (
        not isinstance(call, ast.Call)
        or not call.args
        or any(isinstance(part, ast.Starred) for part in call.args)
    ):
        return tr("Run `self.%(seen)s` under `checkpoint(function, False, *tensors)`.", seen=seen.text), None
    layer, args = ast.unparse(call.func), [ast.unparse(part) for part in call.args]
    bound = module.binding("checkpoint")
    is_torch = (
        bound is not None and isinstance(bound.value, Import) and bound.value.module.startswith("torch")
    )
    if is_torch:
        named = [f"{part.arg}={ast.unparse(part.value)}" for part in call.keywords if part.arg]
        typed = f"checkpoint({', '.join([layer, *args, *named, 'use_reentrant=False'])})"
        return tr("Write `%(typed)s`.", typed=typed), unsafe(replace(module, call, typed))
    name = (
        "tensor_parallel.checkpoint"
        if bound is None and "tensor_parallel" in module.bindings
        else "checkpoint"
    )
    made = _made_of(module, call)
    if made is not None:
        names = list(dict.fromkeys(part.id for part in _values(made) if isinstance(part, ast.Name)))
        kind = tr("a dict") if isinstance(made, ast.Dict) else tr("a %(made)s", made=ast.unparse(made.func))
        text = tr("Megatron's checkpoint takes tensors alone, and %(kind)s is passed here", kind=kind)
        if call.keywords or len(call.args) > 1 or not names or len(names) < len(_values(made)):
            return tr(
                "%(text)s: checkpoint inside `%(layer)s`, around its blocks.", text=text, layer=layer
            ), None
        inside = ", ".join(names)
        typed = f"{name}(lambda {inside}: {layer}({ast.unparse(made)}), False, {inside})"
        edits = (replace(module, call, typed), *_imported(module, name))
        return tr(
            "%(text)s: hand the tensors over and make it inside, `%(typed)s`.", text=text, typed=typed
        ), unsafe(*edits)
    if call.keywords:
        kept = ", ".join(["x", *args[1:], *(ast.unparse(part) for part in call.keywords)])
        return tr(
            "Write `%(name)s(lambda x: %(layer)s(%(kept)s), False, %(args)s)`.",
            name=name,
            layer=layer,
            kept=kept,
            args=args[0],
        ), None
    typed = f"{name}({', '.join([layer, 'False', *args])})"
    return tr("Write `%(typed)s`.", typed=typed), unsafe(
        replace(module, call, typed), *_imported(module, name)
    )


def _imported(module: ModuleFacts, name: str) -> tuple[Edit, ...]:
    source = f"{framework_of(module)}.core.tensor_parallel"
    return add_import(module, source, "checkpoint") if name == "checkpoint" else ()


def _made_of(module: ModuleFacts, call: ast.Call) -> ast.Dict | ast.Call | None:
    """The dict or the object that a call passes, as it is made here; None where it may be a tensor."""
    first = call.args[0]
    if isinstance(first, ast.Name):
        around = [
            node
            for node in walk(module.tree)
            if isinstance(node, ast.FunctionDef) and node.lineno <= call.lineno <= (node.end_lineno or 0)
        ]
        values = [
            node
            for node in (walk(around[-1]) if around else ())
            if isinstance(node, ast.Assign) and node.lineno < call.lineno
            if any(isinstance(target, ast.Name) and target.id == first.id for target in node.targets)
        ]
        first = max(values, key=lambda node: node.lineno).value if values else first
    if isinstance(first, ast.Dict):
        return first
    name = (dotted_name(first.func) or "") if isinstance(first, ast.Call) else ""
    is_class = name.rsplit(".", 1)[-1][:1].isupper() and not name.startswith(("self.", "torch."))
    return first if isinstance(first, ast.Call) and (is_class or name == "dict") else None


def _values(made: ast.Dict | ast.Call) -> list[ast.expr]:
    """What a dict or an object is made of, constants left out."""
    given = (
        made.values if isinstance(made, ast.Dict) else [*made.args, *(part.value for part in made.keywords)]
    )
    return [part for part in given if not isinstance(part, ast.Constant)]


def _heavy_layers(project: Project, cls: ClassFacts) -> set[str]:
    """Attributes of a stage that hold a fuser, a transformer or an encoder which does not recompute by itself."""
    found = set()
    init = cls.methods.get("__init__")
    for node in walk(init) if init is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        for call in ast.walk(node.value):
            if isinstance(call, ast.Call) and _HEAVY.search(
                (dotted_name(call.func) or "").rsplit(".", 1)[-1]
            ):
                if not any(
                    "recompute" in (keyword.arg or "") or "checkpoint" in (keyword.arg or "")
                    for keyword in call.keywords
                ) and not _checkpoints_itself(project, cls, call):
                    found.add(node.targets[0].attr)
    return found


def _checkpoints_itself(project: Project, cls: ClassFacts, call: ast.Call) -> bool:
    """Whether the class that a call builds, directly or by its style, checkpoints inside its forward."""
    style = written_style(call)
    ref = project.resolve_expression(cls.module, call.func)
    made = [e.target for r in registries(project) for e in r.entries if e.style == style] if style else [ref]
    forwards = [project.method(found, "forward") for found in made if isinstance(found, ClassFacts)]
    return any(
        isinstance(node, ast.Call)
        and (dotted_name(node.func) or "").rsplit(".", 1)[-1].endswith("checkpoint")
        for found in forwards
        if found is not None
        for node in walk(found[1])
    )

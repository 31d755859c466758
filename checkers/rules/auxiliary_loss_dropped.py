"""W7734"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_LOSS = re.compile(r"(aux|balance|balancing|router|load|z)(_\w+)?_loss(es)?|aux|l_aux|aux_losses")
_ROUTES = re.compile(r"(?i)rout|gat(e|ing)|expert|moe")
_TRAINS = re.compile(r"megatron|deepspeed|tensor_parallel|mpu\b|torch\.distributed|colossalai|all_to_all")
_INFERS = re.compile(r"no_grad\(|inference_mode|_stream_capturing\(|def load_weights\(")


class AuxiliaryLossDropped(Rule):
    """The auxiliary loss that a router returns goes nowhere."""

    code, symbol = "W7734", "auxiliary-loss-dropped"
    message = "`%(loss)s` of `%(call)s` is never used: the experts are not balanced"
    advice = (
        "Attach it to what the layer returns, by a function whose backward gives it a gradient, or add it to the loss; "
        "name it `_` where it is meant to be dropped."
    )
    why = "Without its auxiliary loss a router sends more and more tokens to a few experts."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the load of the experts drifts apart, and so does the loss"
    limits = (
        "Only for a name that says it is an auxiliary loss, unpacked from a call of a router or gate, in a file that "
        "is not for inference."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core.tensor_parallel import copy_to_tensor_model_parallel_region
    from torch import nn


    class Experts(nn.Module):
        def __init__(self, router, bank):
            super().__init__()
            self.router = router
            self.bank = bank

        def forward(self, x):
            weights, chosen, aux_loss = self.router(x)  # [auxiliary-loss-dropped]
            return self.bank(copy_to_tensor_model_parallel_region(x), weights, chosen)
    """
    good = """
    from megatron.core.tensor_parallel import copy_to_tensor_model_parallel_region
    from torch import nn


    class Experts(nn.Module):
        def __init__(self, router, bank, attach):
            super().__init__()
            self.router = router
            self.bank = bank
            self.attach = attach

        def forward(self, x):
            weights, chosen, aux_loss = self.router(x)
            out = self.bank(copy_to_tensor_model_parallel_region(x), weights, chosen)
            return self.attach(out, aux_loss)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if module.says(_FUNCTION) and not analysis.project.is_copied_framework(module):
                for cls in module.classes.values():
                    cut = _cut_off(cls)
                    if cut is not None:
                        yield self.finding(
                            place_of(module, cut[0]),
                            object=cls.name,
                            message="`%(cls)s` takes in `%(loss)s`, and its backward gives that no gradient",
                            cls=cls.name,
                            loss=cut[1],
                        )
        for frame in functions(analysis.project, _LOSS, _TRAINS):
            for name, call in _dropped(frame):
                yield self.finding(
                    place_of(frame.module, name),
                    object=frame.cls.name if frame.cls is not None else "",
                    loss=name.id,
                    call=ast.unparse(call.func),
                )


def _dropped(frame: Frame) -> Iterator[tuple[ast.Name, ast.Call]]:
    function = frame.scope.function
    if not isinstance(function, ast.FunctionDef) or frame.module.says(_INFERS):
        return
    used = {
        node.id
        for node in walk(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    }
    for node in frame.scope.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        for part in target.elts if isinstance(target, ast.Tuple) else ():
            if isinstance(part, ast.Name) and _LOSS.fullmatch(part.id) and part.id not in used:
                if _ROUTES.search(ast.unparse(node.value.func)) and "locals()" not in ast.unparse(function):
                    yield part, node.value


_FUNCTION = re.compile(r"autograd\.Function|\(Function\)")


def _cut_off(cls: ClassFacts) -> tuple[ast.Return, str] | None:
    """A function of autograd that returns its first input, keeps a loss for its backward, and returns None for it."""
    forward, backward = cls.methods.get("forward"), cls.methods.get("backward")
    if forward is None or backward is None or len(forward.args.args) != 3:
        return None
    context, tensor, loss = (arg.arg for arg in forward.args.args)
    gives = [ast.unparse(node.value) for node in walk(forward) if isinstance(node, ast.Return) and node.value]
    kept = f"{context}.save_for_backward({loss})" in ast.unparse(forward)
    if gives != [tensor] or not kept or not (_LOSS.fullmatch(loss) or loss == "loss"):
        return None
    for node in walk(backward):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            if ast.unparse(node.value.elts[1]) == "None":
                return node, loss
    return None

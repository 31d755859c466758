"""W7566"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions, module_functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SWITCHES = re.compile(r"\.(eval|train)\(\)")
_EVALUATES = re.compile(r"^_*(eval|valid)\w*$")
_MODEL = re.compile(r"(^|[._])(model|net|network|chunk|stage|module|backbone)\w*$|^self$")
_TRAINS = re.compile(
    r"\.backward\(|optimizer\w*\.step\(|\bopt\.step\(|\btrain_step\(|\.scale\(loss|zero_grad"
)
_GOES_BACK = re.compile(r"\.train\(|\.training\s*=|set_train|train_mode")
_WITHOUT_GRADIENT = re.compile(r"no_grad|inference_mode|forward_only")


class ModeNotSwitched(Rule):
    """Training goes on in evaluation mode after the first validation, or validation runs in training mode."""

    code, symbol = "W7566", "mode-not-switched"
    message = "%(problem)s"
    advice = "Call `eval()` before the evaluation and `train()` behind it, on the same model."
    why = (
        "`eval()` and `train()` say whether dropout, stochastic depth and batch statistics work. What one function "
        "sets stays for whatever runs next."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: from the first validation on nothing is dropped in training, or validation computes with noise"
    limits = (
        "Functions named eval or valid, whose model is handed in or kept by the class, called from a loop in a file "
        "that trains. Silent where this file, the caller's, or one that they import calls `train()` (or `eval()`) too."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state


    @torch.no_grad()
    def evaluate(model, batches):
        model.eval()  # [mode-not-switched]
        return sum(model(batch).mean() for batch in batches) / parallel_state.get_data_parallel_world_size()


    def train(model, optimizer, batches, held_out):
        for number, batch in enumerate(batches):
            model(batch).mean().backward()
            optimizer.step()
            if number % 100 == 0:
                evaluate(model, held_out)
    """
    good = """
    import torch
    from megatron.core import parallel_state


    @torch.no_grad()
    def evaluate(model, batches):
        model.eval()
        found = sum(model(batch).mean() for batch in batches) / parallel_state.get_data_parallel_world_size()
        model.train()
        return found


    def train(model, optimizer, batches, held_out):
        for number, batch in enumerate(batches):
            model(batch).mean().backward()
            optimizer.step()
            if number % 100 == 0:
                evaluate(model, held_out)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for frame in functions(project, _SWITCHES):
            function = frame.scope.function
            if function is None or not _EVALUATES.match(function.name):
                continue
            switched = [(node, word) for node in frame.scope.calls if (word := _switch(node, frame))]
            words = {word for _, word in switched}
            if words == {"eval"}:
                yield from self._kept(project, frame, switched[0][0])
            elif words == {"train"} and _WITHOUT_GRADIENT.search(frame.module.text_of(function)):
                if ".eval()" not in "".join(module.text for module in _near(project, frame.module)):
                    yield self.finding(
                        place_of(frame.module, switched[0][0]),
                        object=function.name,
                        problem=tr(
                            "`%(name)s` goes back to training mode, and nothing left it: it evaluates with dropout",
                            name=function.name,
                        ),
                    )

    def _kept(self, project: Project, frame: Frame, node: ast.Call) -> Iterator[Finding]:
        function = frame.scope.function
        assert function is not None
        caller = _called_in_loop(frame, function.name)
        if caller is None:
            return
        if any(_GOES_BACK.search(module.text) for module in _near(project, frame.module)):
            return
        yield self.finding(
            place_of(frame.module, node),
            object=function.name,
            evidence=(Evidence(frame.module.display, caller.lineno, tr("the training loop calls it here")),),
            problem=tr(
                "`%(name)s` leaves the model in evaluation mode, and the loop that calls it trains on",
                name=function.name,
            ),
        )


def _switch(node: ast.AST, frame: Frame) -> str:
    """Which mode a call sets on a model that the function was given or that its class keeps."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.args
        or node.keywords
    ):
        return ""
    held = ast.unparse(node.func.value)
    if node.func.attr not in ("eval", "train") or not _MODEL.search(held.split("[")[0]):
        return ""
    made = frame.scope.bound.get(held, [])
    return "" if any(isinstance(value, ast.Call) for value in made) else node.func.attr


def _called_in_loop(frame: Frame, name: str) -> ast.Call | None:
    """Where a loop of the file that trains runs the function, also by way of one more function."""
    if not frame.module.says(_TRAINS):
        return None
    callers: list[tuple[Frame, ast.Call]] = []
    for other in module_functions(frame.project, frame.module):
        callers += [(other, call) for call in other.scope.calls if last_name(call.func) == name]
    for other, call in callers:
        own = other.scope.function
        if _in_loop(other, call):
            return call
        for around in module_functions(frame.project, frame.module) if own is not None else ():
            for outer in around.scope.calls:
                if own is not None and last_name(outer.func) == own.name and _in_loop(around, outer):
                    return call
    return None


def _in_loop(frame: Frame, call: ast.Call) -> bool:
    return any(
        isinstance(node, ast.For | ast.While)
        and any(part is call for body in node.body for part in walk(body))
        for node in frame.scope.nodes
    )


def _near(project: Project, module: ModuleFacts) -> list[ModuleFacts]:
    """A file, and those of the tree that it imports."""
    found = [module]
    for edge in module.edges:
        target = project.find_module(module.absolute(edge.module), module)
        if isinstance(target, ModuleFacts):
            found.append(target)
    return found

"""E7730"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.called import calls_with_tests
from ..spmd.collectives import Entered
from ..spmd.conditions import Atom, atoms_of, condition
from ..spmd.dependence import MODEL_PARALLEL, depends
from ..spmd.frames import Frame, functions
from ..spmd.names import EXPERT, MODEL, NONE, TP, WORLD, Axes, text_of
from ..spmd.reach import Reaches
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SAVES = re.compile(r"torch\.save\(")
_WHOLE = re.compile(
    r"FSDP|FullStateDict|full_state_dict|DTensor|gather(?!_output)|merge|consolidat|whole|deepspeed|get_model_state_dict"
)
_STAGES = re.compile(r"get_pipeline_model_parallel_(rank|world_size)|is_pipeline_")
_TENSOR = re.compile(r"get_tensor_model_parallel_(rank|world_size)")
_STATE = re.compile(r"\bmodel\w*(\.module)?\.state_dict\(")


class FileNameLacksAxis(Rule):
    """Ranks that hold different parts of a model write one file, or only one of them writes."""

    code, symbol = "E7730", "file-name-lacks-axis"
    message = "`%(call)s` writes the state of the %(axes)s ranks to one file: %(why)s"
    advice = "Put the %(axes)s rank into the file name, and save on data-parallel rank 0 of each part."
    why = (
        "Every tensor-parallel rank and every stage holds another part of the parameters under the same names. A file "
        "that does not carry its rank is overwritten by the others."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Saving works; after loading all ranks hold the part that was written last, or keys are missing."
    )
    limits = (
        "For `torch.save` of a `state_dict` in files with Megatron's tensor parallelism: where the name carries the "
        "rank of one of two axes that the tree uses, or where rank 0 alone saves a model that nothing gathers."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state


    def save(model, folder):
        rank = parallel_state.get_pipeline_model_parallel_rank()
        if parallel_state.get_data_parallel_rank() == 0:
            torch.save(model.state_dict(), f"{folder}/stage{rank}.pt")  # [file-name-lacks-axis]


    def split(width):
        return width // parallel_state.get_tensor_model_parallel_world_size()
    """
    good = """
    import torch
    from megatron.core import parallel_state


    def save(model, folder):
        rank = parallel_state.get_pipeline_model_parallel_rank()
        part = parallel_state.get_tensor_model_parallel_rank()
        if parallel_state.get_data_parallel_rank() == 0:
            torch.save(model.state_dict(), f"{folder}/stage{rank}_{part}.pt")


    def split(width):
        return width // parallel_state.get_tensor_model_parallel_world_size()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for frame in functions(project, _SAVES, MODEL_PARALLEL):
            function = frame.scope.function
            if function is None or "torch.save(" not in frame.module.text_of(function):
                continue
            for node, tests in calls_with_tests(function.body, []):
                if frame.external(node.func) == "torch.save" and len(node.args) > 1:
                    yield from self._check(node, tests, frame, project)

    def _check(
        self, node: ast.Call, tests: list[ast.expr], frame: Frame, project: Project
    ) -> Iterator[Finding]:
        function = frame.scope.function
        text = frame.module.text_of(function) if function is not None else ""
        atoms: set[Atom] = {atom for test in tests for atom in atoms_of(condition(test, frame))}
        named = depends(node.args[1], frame)
        if named & EXPERT:
            return  # a file of experts: which of the other ranks hold them is another question
        guarded: Axes = NONE.union(*(atom.axes for atom in atoms))
        if named & MODEL and named != WORLD and ".state_dict(" in text:
            missing = MODEL - named - guarded
            if any(atom.value == "0" and atom.axes == WORLD for atom in atoms):
                have = tr(
                    "the name carries the %(named)s rank, and rank 0 alone saves",
                    named=text_of(named & MODEL),
                )
                yield self._found(node, frame, named & MODEL, have)
                return
            if project.knowledge(_uses_both) and missing:
                have = tr("the name carries the %(named)s rank only", named=text_of(named & MODEL))
                yield self._found(node, frame, missing, have)
        elif not named and any(atom.value == "0" and atom.axes == WORLD for atom in atoms):
            state = ast.unparse(node.args[0])
            is_state = _STATE.search(state) or (
                isinstance(node.args[0], ast.Name) and _holds_state(node.args[0], frame)
            )
            whole = frame.module.says(_WHOLE) or _may_gather(frame)
            if is_state and not whole and project.knowledge(_uses_layers):
                yield self._found(
                    node, frame, TP, tr("rank 0 alone saves, and the parts of the others are lost")
                )

    def _found(self, node: ast.Call, frame: Frame, missing: Axes, why: str) -> Finding:
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, node.lineno, why),),
            call=ast.unparse(node.func),
            axes=text_of(missing),
            why=why,
        )


def _may_gather(frame: Frame) -> bool:
    """Whether a function enters a collective that moves values, by itself or through what it calls."""
    own = frame.project.knowledge(Entered).of(frame)
    if any("barrier" not in entry.name for entry in own):
        return True
    reaches = frame.project.knowledge(Reaches)
    inner = [frame.callee(call) for call in frame.scope.calls]
    return any(reaches.any(callee) for callee in inner if callee is not None)


def _holds_state(node: ast.Name, frame: Frame) -> bool:
    return any(_STATE.search(ast.unparse(value)) for value, _ in frame.definitions(node))


def _uses_both(project: Project) -> bool:
    return any(m.says(_STAGES) for m in project.modules) and any(m.says(_TENSOR) for m in project.modules)


def _uses_layers(project: Project) -> bool:
    return any("ParallelLinear(" in module.text for module in project.modules)

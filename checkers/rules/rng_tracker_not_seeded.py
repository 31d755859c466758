"""E7736"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External, Project, dotted_name
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FORKS = re.compile(r"get_cuda_rng_tracker\(\)\s*\.fork\(")
_NAMED_FORKS = re.compile(r"get_cuda_rng_tracker\(\)\s*\.fork\([\"']")
_OWN_NAMES = ("model-parallel-rng", "expert-parallel-rng", "data-parallel-rng")
_SEEDS = re.compile(
    r"model_parallel_\w*manual_seed\(|set_random_seed|initialize_megatron|pretrain\("
    r"|rng_tracker\(?\)?\.(add|set_states)\(|initialize_rng_tracker|manual_seed_for|MegatronStrategy|load_checkpoint\("
)
_STARTS = re.compile(r"\binitialize_model_parallel\(")


class RngTrackerNotSeeded(Rule):
    """A forked generator of Megatron is used, and nothing in the tree gives it a seed."""

    code, symbol = "E7736", "rng-tracker-not-seeded"
    message = "`%(call)s` needs the model-parallel generator, and nothing in this tree adds it to the tracker"
    advice = (
        "Call `model_parallel_cuda_manual_seed(seed)` after `initialize_model_parallel(…)`, in `%(start)s`."
    )
    why = (
        "The tracker knows the generators by name. `model_parallel_cuda_manual_seed` adds the one that has a seed of "
        "its own on each tensor-parallel rank; without it there is none."
    )
    symptom = Symptom.CRASH
    runtime = (
        "Exception: cuda rng state model-parallel-rng is not added, at the first dropout or initialisation"
    )
    limits = (
        "Only where the tree starts the parallel groups itself, and nowhere speaks of seeding the tracker; or where a "
        "name is given that is none of Megatron's, and that nothing adds."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import get_cuda_rng_tracker


    def start(tp, seed):
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=tp)
        torch.manual_seed(seed)


    def drop(x, rate):
        with get_cuda_rng_tracker().fork():  # [rng-tracker-not-seeded]
            return torch.nn.functional.dropout(x, rate)
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import get_cuda_rng_tracker, model_parallel_cuda_manual_seed


    def start(tp, seed):
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=tp)
        torch.manual_seed(seed)
        model_parallel_cuda_manual_seed(seed)


    def drop(x, rate):
        with get_cuda_rng_tracker().fork():
            return torch.nn.functional.dropout(x, rate)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        yield from self._unknown_names(project)
        if any(module.says(_SEEDS) for module in project.modules if not project.is_framework(module)):
            return
        start = next((frame for frame in functions(project, _STARTS) if _starts(frame)), None)
        if start is None:
            return
        for frame in functions(project, _FORKS):
            call = next((node for node in frame.scope.nodes if _is_fork(node, frame)), None)
            if isinstance(call, ast.Call) and not project.is_framework(frame.module):
                name = start.scope.function.name if start.scope.function is not None else ""
                yield self.finding(
                    place_of(frame.module, call),
                    object=frame.cls.name if frame.cls is not None else "",
                    evidence=(
                        Evidence(
                            start.module.display,
                            getattr(start.scope.function, "lineno", 1),
                            tr("the parallel groups are started here"),
                        ),
                    ),
                    call=ast.unparse(call),
                    start=name,
                )

    def _unknown_names(self, project: Project) -> Iterator[Finding]:
        """`fork("dropout")` of a generator that is none of Megatron's own, and that nothing adds."""
        for frame in functions(project, _NAMED_FORKS):
            for node in frame.scope.calls:
                asked = (
                    node.func.value
                    if isinstance(node.func, ast.Attribute) and node.func.attr == "fork"
                    else None
                )
                ref = frame.ref(asked.func) if isinstance(asked, ast.Call) else None
                if not isinstance(ref, External) or "megatron" not in ref.dotted or len(node.args) != 1:
                    continue
                name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
                if not isinstance(name, str) or name in _OWN_NAMES or project.is_framework(frame.module):
                    continue
                if not any(name in module.text and ".add(" in module.text for module in project.modules):
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.cls.name if frame.cls is not None else "",
                        advice=tr(
                            "Leave the name out, or add the generator: `tracker.add(%(name)s, seed)`.",
                            name=repr(name),
                        ),
                        call=ast.unparse(node),
                    )


def _starts(frame: Frame) -> bool:
    """Whether a function of the tree calls Megatron's `initialize_model_parallel`."""
    return any(
        isinstance(node, ast.Call)
        and (dotted_name(node.func) or "").rpartition(".")[2] == "initialize_model_parallel"
        and "megatron" in frame.external(node.func)
        for node in frame.scope.nodes
    )


def _is_fork(node: ast.AST, frame: Frame) -> bool:
    """`get_cuda_rng_tracker().fork()` of Megatron, without a name of its own."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    asked = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "fork" else None
    if not isinstance(asked, ast.Call):
        return False
    ref = frame.ref(asked.func)
    return isinstance(ref, External) and "megatron" in ref.dotted and any(walk(asked))

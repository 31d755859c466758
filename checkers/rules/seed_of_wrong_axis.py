"""W7729"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.dependence import MODEL_PARALLEL, depends
from ..spmd.frames import Frame, functions
from ..spmd.names import DP, PP, TP, WORLD, Axes, text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SEEDS = re.compile(r"seed\w*\(")
_DEFAULT = re.compile(r"torch\.(random\.)?manual_seed|torch\.cuda\.(random\.)?manual_seed(_all)?")
_MADE_EQUAL = re.compile(
    r"broadcast_params|DistributedDataParallel|data_parallel_random_init|broadcast_coalesced|DDP\("
)


class SeedOfWrongAxis(Rule):
    """A seed depends on a rank along which what is drawn from it must be the same."""

    code, symbol = "W7729", "seed-of-wrong-axis"
    message = "`%(call)s` seeds by %(axes)s: %(why)s"
    advice = "%(advice)s"
    why = (
        "Replicated parameters, dropout outside split regions and the order of the data are drawn from the default "
        "generator and must come out equal on all ranks that share them."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; norms, biases and embeddings of the ranks are different models, or samples come twice."
    limits = (
        "Only in files with Megatron's tensor parallelism. A seed by the data-parallel rank counts where nothing "
        "in the tree makes the replicas equal, and one by the tensor-parallel rank where dropout or Megatron draws "
        "what the ranks share, in functions that restore no generator; one inside a sampler, where that rank then "
        "picks its share."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed


    def seed_everything(seed):
        torch.manual_seed(seed + parallel_state.get_tensor_model_parallel_rank())  # [seed-of-wrong-axis]
        model_parallel_cuda_manual_seed(seed)
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed


    def seed_everything(seed):
        torch.manual_seed(seed + 100 * parallel_state.get_pipeline_model_parallel_rank())
        model_parallel_cuda_manual_seed(seed)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for frame in functions(project, _SEEDS, MODEL_PARALLEL):
            if frame.scope.function is not None and _RESTORES.search(
                frame.module.text_of(frame.scope.function)
            ):
                continue  # a seed for what the function draws itself
            seeds = [
                node
                for node in frame.scope.calls
                if node.args and _DEFAULT.fullmatch(frame.external(node.func))
            ]
            found = [finding for node in seeds for finding in self._default(node, frame, project)]
            yield from found[:1]  # one cause, however many generators it seeds
        for frame in functions(project, _SEEDS):
            yield from self._helpers(frame, project)
        for frame in functions(project, _SEEDS, _SAMPLER):
            yield from self._sampler(frame)

    def _default(self, node: ast.Call, frame: Frame, project: Project) -> Iterator[Finding]:
        axes = depends(node.args[0], frame)
        advice = tr(
            "Leave that rank out: `model_parallel_cuda_manual_seed(seed)` gives split layers their own stream."
        )
        if axes & TP:
            if _draws_whole(project, frame.module):
                why = tr("what the tensor-parallel ranks share is drawn differently")
                yield self._found(node, frame, axes, why, advice)
        elif axes & DP and not project.knowledge(_replicas_made_equal):
            yield self._found(node, frame, axes, tr("the replicas start from different weights"), advice)

    def _helpers(self, frame: Frame, project: Project) -> Iterator[Finding]:
        """A function of the tree that seeds the default generator with what it is given."""
        for node in frame.scope.nodes:
            inner = (
                frame.callee(node) if isinstance(node, ast.Call) and "seed" in last_name(node.func) else None
            )
            if inner is None or not isinstance(node, ast.Call) or _loads(frame):
                continue
            if not any(module.says(MODEL_PARALLEL) for module in (frame.module, inner.module)):
                continue
            seeded = [
                part.args[0]
                for part in inner.scope.calls
                if part.args and _DEFAULT.fullmatch(inner.external(part.func))
            ]
            for name in seeded[:1]:
                given = inner.given.get(name.id) if isinstance(name, ast.Name) else None
                if given is None or given[1] is not frame or not depends(given[0], frame) & TP:
                    continue
                if _draws_whole(project, frame.module):
                    why = tr("what the tensor-parallel ranks share is drawn differently")
                    advice = tr("Leave that rank out: split layers have a stream of their own.")
                    yield self._found(node, frame, depends(given[0], frame), why, advice, given[0])

    def _sampler(self, frame: Frame) -> Iterator[Finding]:
        """An order that each replica shuffles differently before it takes its share."""
        shares = [
            depends(node.slice.lower, frame)
            for node in frame.scope.of(ast.Subscript)
            if isinstance(node.slice, ast.Slice)
            if node.slice.lower is not None
            and (node.slice.step is not None or "rank" in ast.unparse(node.slice))
        ]
        for node in frame.scope.nodes if any(shares) else ():
            is_seed = isinstance(node, ast.Call) and last_name(node.func) == "manual_seed" and node.args
            if isinstance(node, ast.Call) and is_seed:
                axes = depends(node.args[0], frame)
                if axes & (TP | PP) and axes != WORLD and not any(axes & share for share in shares):
                    why = tr("the ranks of one model replica shuffle other orders, and read other samples")
                    advice = tr("Leave the rank out: the ranks of a replica read the same samples.")
                    yield self._found(node, frame, axes, why, advice)
                elif axes and any(axes & share for share in shares):
                    why = tr(
                        "each replica shuffles another order and takes its share of that: samples come twice or never"
                    )
                    yield self._found(
                        node, frame, axes, why, tr("Leave the rank out: all replicas share one order.")
                    )

    def _found(
        self, node: ast.Call, frame: Frame, axes: Axes, why: str, advice: str, seed: ast.expr | None = None
    ) -> Finding:
        name = tr("the global rank") if axes == WORLD else tr("the %(axes)s rank", axes=text_of(axes))
        text = tr("`%(args)s` depends on %(name)s", args=ast.unparse(seed or node.args[0]), name=name)
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, node.lineno, text),),
            call=ast.unparse(node.func),
            axes=name,
            why=why,
            advice=advice,
        )


_RESTORES = re.compile(r"set_rng_state\(|fork_rng\(")
_LOADS = re.compile(r"\.load\(|load_(checkpoint|state_dict|weights)\(")
_BUILDS = re.compile(r"(Column|Row)ParallelLinear\(")
_WHOLES = re.compile(r"\bnn\.(Linear|Embedding|Conv\dd)\(|Parameter\(\s*torch\.(rand|randn|empty)\(")
_GENERATOR = re.compile(r"model_parallel_cuda_manual_seed|rng_tracker|\bmegatron\b|\b[Dd]ropout\w*\(")


def _loads(frame: Frame) -> bool:
    """Whether the function then takes its weights from a file."""
    function = frame.scope.function
    return function is not None and _LOADS.search(frame.module.text_of(function)) is not None


def _draws_whole(project: Project, seeding: ModuleFacts) -> bool:
    """Whether something is drawn that the ranks share: dropout, or what Megatron leaves to the default generator.

    Layers of fairscale draw the whole weight and keep their part of it, so that any seed serves.
    """
    below = [module for module in project.modules if module.path.is_relative_to(seeding.path.parent)]
    near = below if any(module.says(_BUILDS) for module in below) else project.modules
    return any(module.says(_GENERATOR) or (module.says(_BUILDS) and module.says(_WHOLES)) for module in near)


_SAMPLER = re.compile(r"class \w*Sampler|Sampler\):")


def _replicas_made_equal(project: Project) -> bool:
    return any(module.says(_MADE_EQUAL) for module in project.modules)

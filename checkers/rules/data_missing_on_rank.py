"""E7551"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..project.data_reads import LAST, data_reads, stages_of
from ..project.enclosing import around_call
from ..project.scopes import Scope as Names
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_TENSOR = ("tensor_model_parallel", "tensor_parallel")


class DataMissingOnRank(Rule):
    """Ranks of one tensor-parallel group get other batches, or a stage that needs data has no data set."""

    code, symbol = "E7551", "data-missing-on-rank"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "The ranks of a tensor-parallel group hold parts of the same layers and must see the same batch; the first "
        "stage needs the input and the last one the label."
    )
    symptom = Symptom.CRASH
    runtime = "`None` where a batch is expected, or a result that mixes two batches"
    limits = "Silent where the batch is broadcast, or where the test on the rank cannot be read."
    guide = "beyond the guide"
    bad = """
    from functools import partial

    from megatron.core import mpu
    from losses import l2_loss


    def forward_step(data_iterator, model):
        field = label = None
        if mpu.get_tensor_model_parallel_rank() == 0:  # [data-missing-on-rank]
            field, label = next(data_iterator)
        output = model(field)
        return output, partial(l2_loss, label)
    """
    good = bad.replace("mpu.get_tensor_model_parallel_rank() == 0", "mpu.is_pipeline_last_stage()").replace(
        "  # [data-missing-on-rank]", ""
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                yield from self._step(script, step)
            provider = script.handed("train_valid_test_dataset_provider")
            if provider is not None and provider.function is not None:
                yield from self._provider(script, provider)

    def _step(self, script: TrainingScript, step: Names) -> Iterator[Finding]:
        for read in data_reads(script, step):
            function = read.scope.function
            if function is None or "broadcast" in as_code(function) or _shares(read.scope):
                continue
            for test in _deciding(function, read.node):
                if any(word in as_code(part) for part in _with_names(test, read.scope) for word in _TENSOR):
                    yield self.finding(
                        place_of(read.scope.module, test),
                        object=function.name,
                        advice="%(typed)s",
                        problem=tr("the ranks of one tensor-parallel group do not read the same batch"),
                        typed=tr(
                            "Let every rank of the group read once, or broadcast what the first one reads."
                        ),
                    )
                    break

    def _provider(self, script: TrainingScript, provider: Names) -> Iterator[Finding]:
        reading = {
            stage
            for step in script.forward_steps
            for read in data_reads(script, step)
            if not read.where.is_open
            for stage in read.where.stages
        }
        for node in provider.nodes:
            if not isinstance(node, ast.If) or not _gives_none(node.body):
                continue
            surely, _ = stages_of(node.test, provider)
            if LAST in surely and LAST in reading and provider.function is not None:
                yield self.finding(
                    place_of(provider.module, node),
                    object=provider.function.name,
                    advice="%(typed)s",
                    problem=tr("the last stage gets no data set, and its step reads the label"),
                    typed=tr("Build it on the last stage too: `mpu.is_pipeline_last_stage()`."),
                )


def _shares(scope: Names) -> bool:
    """Whether a function of the same file that is called here broadcasts."""
    named = {call.func.id for call in scope.calls if isinstance(call.func, ast.Name)}
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name in named
        and "broadcast(" in scope.module.text_of(node)
        for node in scope.module.tree.body
    )


def _deciding(function: ast.FunctionDef, node: ast.AST) -> Iterator[ast.expr]:
    """The tests, and the loops, that decide whether or how often a call runs."""
    around = (*(around_call(function, node) or ()), node)
    for part, inner in itertools.pairwise(around):
        if isinstance(part, ast.If | ast.IfExp) and inner is not part.test:
            yield part.test
        elif isinstance(part, ast.For):
            yield part.iter
        elif isinstance(part, ast.ListComp | ast.GeneratorExp):
            yield part.generators[0].iter


def _with_names(test: ast.expr, scope: Names) -> Iterator[ast.expr]:
    """A test, and what its names were given."""
    yield test
    for part in ast.walk(test):
        if isinstance(part, ast.Name):
            made = scope.value(part.id)
            if made is not None and "(" in as_code(made):
                yield made


def _gives_none(body: list[ast.stmt]) -> bool:
    """`return None, None, None`."""
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        return False
    values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    return all(isinstance(value, ast.Constant) and value.value is None for value in values)

"""W7739"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..spmd.called import Called, calls_of, training_steps
from ..spmd.conditions import atoms_of
from ..spmd.dependence import MODEL_PARALLEL, depends
from ..spmd.names import NONE, TP, Axes
from ..spmd.writes import path_written
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FileWrittenByEveryRank(Rule):
    """Each rank of a tensor-parallel group writes the same file at the same time."""

    code, symbol = "W7739", "file-written-by-every-rank"
    message = "`%(call)s` runs on every tensor-parallel rank, and all of them write the same file"
    advice = "Write on one of them: `if mpu.get_tensor_model_parallel_rank() == 0:`."
    why = (
        "A step and its loss run on all ranks of the tensor-parallel group with the same data, and write one name: "
        "whoever reads the file while another rank writes it, or after two wrote at once, may find a part of it."
    )
    symptom = Symptom.TRAP
    runtime = "Mostly nothing; now and then a file that is cut off, or bytes of two writers."
    limits = (
        "What the step and its loss write, in trees with Megatron's tensor parallelism. Silent where the path, or a "
        "test on the way, asks for a rank, and where the path is given from outside."
    )
    guide = "beyond the guide"

    bad = """
    from functools import partial
    import numpy as np
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from megatron.training import pretrain


    def loss_func(label, name, output):
        np.save(f"/results/{name}.npy", output.cpu().numpy())  # [file-written-by-every-rank]
        loss = (output - label).abs().mean()
        return loss, {"l1": loss.detach()}


    def forward_step(data_iterator, model):
        field, label, name = next(data_iterator)
        return model(field), partial(loss_func, label, name)
    """
    good = """
    from functools import partial
    import numpy as np
    from megatron.core import mpu
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from megatron.training import pretrain


    def loss_func(label, name, output):
        if mpu.get_tensor_model_parallel_rank() == 0:
            np.save(f"/results/{name}.npy", output.cpu().numpy())
        loss = (output - label).abs().mean()
        return loss, {"l1": loss.detach()}


    def forward_step(data_iterator, model):
        field, label, name = next(data_iterator)
        return model(field), partial(loss_func, label, name)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        if not any(module.says(MODEL_PARALLEL) for module in project.modules):
            return
        seen: set[int] = set()
        for _, step in training_steps(project):
            for call in calls_of(step):
                path = path_written(call)
                if path is None or id(call.node) in seen or not _is_named_here(path):
                    continue
                seen.add(id(call.node))
                if not _axes(call, path) >= TP:
                    function = call.frame.scope.function
                    yield self.finding(
                        place_of(call.frame.module, call.node),
                        object=function.name if function is not None else "",
                        call=ast.unparse(call.node.func),
                    )


def _is_named_here(path: ast.expr) -> bool:
    """Whether the path is put together here, so that a rank in it would be seen."""
    return isinstance(path, ast.JoinedStr) or (isinstance(path, ast.Constant) and isinstance(path.value, str))


def _axes(call: Called, path: ast.expr) -> Axes:
    """The axes of the ranks that the path carries, and that tests on the way ask for."""
    asked: Axes = NONE.union(*(atom.axes for formula in call.formulas for atom in atoms_of(formula)))
    if any("rank" in ast.unparse(test) or "main_process" in ast.unparse(test) for test, _ in call.tests):
        return TP
    if "rank" in ast.unparse(path):
        return TP
    return asked | depends(path, call.frame)

"""E7732"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.loss_binding import loss_bindings
from ..project.loss_values import times_samples
from ..project.own_attributes import written_anywhere
from ..project.project import Project
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.axes import group_axes, size_axes
from ..spmd.deepspeed import divided_before_engine
from ..spmd.frames import Frame, functions, returns
from ..spmd.gradient_norms import splits_models
from ..spmd.marked import is_marked
from ..spmd.means import count_of, mean_of, unset_scale
from ..spmd.names import DP, TP, WORLD
from ..spmd.undivided import NAMED, sum_for_mean
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DEEPSPEED = re.compile(r"gradient_accumulation_steps\(\)")
_MICRO = re.compile(r"num_micro|n_micro|micro_?batches")
_BATCHES = re.compile(r"global_batch")
_REPLICAS = re.compile(r"data_parallel|\bdp|dp_|_dp\b|replica|world", re.IGNORECASE)


class LossScaledWrongly(Rule):
    """A loss, a gradient or the number of micro-batches is divided once too often, or once too little."""

    code, symbol = "E7732", "loss-scaled-wrongly"
    message = "`%(text)s` %(what)s"
    advice = "%(advice)s"
    why = (
        "The schedule divides what the loss function returns by the number of micro-batches, and data parallelism "
        "averages the gradients over the replicas. Gradients of sequence-parallel parameters are parts of a sum."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Nothing fails; gradients are smaller, or updates rarer, by a factor that changes with the layout."
    )
    limits = (
        "A loss counts where `forward_step` hands the function to the schedule and the quotient is what it returns "
        "first; a count of micro-batches where nothing in the function speaks of replicas and the tree has some."
    )
    guide = "beyond the guide; 3.3 describes the loss function"
    fix_kind = "unsafe"
    fix_note = "The size of every step changes."

    bad = """
    from functools import partial
    from megatron.core.num_microbatches_calculator import get_num_microbatches


    def loss_func(label, output):
        loss = (output - label).abs().mean() / get_num_microbatches()  # [loss-scaled-wrongly]
        return loss, {"l1": loss.detach().clone()}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)
    """
    good = """
    from functools import partial


    def loss_func(label, output):
        loss = (output - label).abs().mean()
        return loss, {"l1": loss.detach().clone()}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for script in project.knowledge(Training):
            for step in script.scheduled_steps:
                for binding in loss_bindings(script, step):
                    if binding.loss is not None:
                        yield from self._loss(Frame(project, binding.loss))
                        yield from self._multiplied(script, Frame(project, binding.loss))
                        yield from self._counted(Frame(project, binding.loss))
        for frame in functions(project, _DEEPSPEED):
            for quotient in divided_before_engine(frame):
                what = tr("is divided by the accumulation steps, and DeepSpeed's engine does that again")
                yield self._found(frame, quotient, what, tr("Give the engine the loss as it is."))
        for frame in functions(project, _MARKED):
            yield from self._marked(frame)
        for frame in functions(project, _BATCHES, _MICRO):
            yield from self._count(frame, project)
        for frame in functions(project, NAMED):
            if (total := sum_for_mean(frame)) is not None:
                what = tr("sums under a name that promises a mean, and nothing divides the sum")
                advice = tr("Divide by the number of ranks, or pass `op=dist.ReduceOp.AVG`.")
                yield self._found(frame, total.node, what, advice)
        for cls in project.classes():
            scale = unset_scale(cls)
            if (
                scale is not None
                and project.knowledge(_has_micro_batches)
                and not _is_set(project, cls, scale[0])
            ):
                yield self._scale(cls, *scale)

    def _loss(self, frame: Frame) -> Iterator[Finding]:
        """A quotient that the loss function returns first."""
        for value in returns(frame):
            first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
            found = frame.scope.bound.get(first.id, []) if isinstance(first, ast.Name) else [first]
            for made in found:
                if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
                    if _MICRO.search(ast.unparse(made.right)) and not _MICRO.search(ast.unparse(made.left)):
                        what = tr(
                            "is divided by the number of micro-batches, and the schedule does that again"
                        )
                        yield self._found(frame, made, what, tr("Return the mean of this micro-batch."))
                    elif size_axes(made.right, frame) == DP and "all_reduce" not in ast.unparse(made.left):
                        if "all_reduce" not in frame.module.text_of(frame.scope.body[0]) and not _sums(frame):
                            what = tr(
                                "is divided by the replicas, over which the gradients are averaged again"
                            )
                            yield self._found(
                                frame, made, what, tr("Return the mean of this replica's micro-batch.")
                            )

    def _multiplied(self, script: TrainingScript, frame: Frame) -> Iterator[Finding]:
        """A mean times the samples of the batch, returned without a count or with the count of one mean."""
        for value in returns(frame):
            found = times_samples(script, value, frame.scope)
            if found is not None:
                whole, mean = found
                what = tr("is a mean times the samples of a batch: the step grows with the batch")
                advice = tr("Return `%(mean)s`.", mean=ast.unparse(mean))
                yield self._found(frame, whole, what, advice, mean)

    def _counted(self, frame: Frame) -> Iterator[Finding]:
        """A mean, returned with a count by which the schedule divides it once more."""
        for value in returns(frame):
            if not isinstance(value, ast.Tuple) or len(value.elts) != 3:
                continue
            mean, count = mean_of(value.elts[0], frame), count_of(value.elts[1], frame)
            if mean is not None and count is not None:
                what = tr(
                    "is a mean already, and the schedule divides it by the number returned with it, `%(count)s`",
                    count=ast.unparse(count),
                )
                yield self._found(
                    frame,
                    mean,
                    what,
                    tr("Return the sum with that number, or the mean with `torch.tensor(1)`."),
                )

    def _marked(self, frame: Frame) -> Iterator[Finding]:
        """Gradients of sequence-parallel parameters, handed on with the inverse size of their group."""
        for call in frame.scope.nodes:
            if not isinstance(call, ast.Call) or not call.args or not is_marked(call.args[0], frame):
                continue
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            over_tp = any(isinstance(arg, ast.Call) and group_axes(arg, frame) == TP for arg in given[1:])
            for arg in given[1:] if over_tp else ():
                if (
                    isinstance(arg, ast.BinOp)
                    and isinstance(arg.op, ast.Div)
                    and size_axes(arg.right, frame) == TP
                ):
                    what = tr("averages gradients that are parts of a sum over the tensor-parallel ranks")
                    yield self._found(frame, arg, what, tr("Sum them: leave the factor out."))

    def _count(self, frame: Frame, project: Project) -> Iterator[Finding]:
        """`global_batch // micro_batch`, the replicas forgotten."""
        function = frame.scope.function
        if function is None or not _MICRO.search(function.name) or _is_never_asked(function, project):
            return
        if _REPLICAS.search(_names(function)):
            yield from self._of_all(frame, project)
            return
        for value in returns(frame):
            if (
                isinstance(value, ast.BinOp)
                and isinstance(value.op, ast.FloorDiv)
                and _BATCHES.search(ast.unparse(value.left))
            ):
                made = [ast.unparse(part) for part, _ in frame.definitions(value.right)] or [
                    ast.unparse(value.right)
                ]
                if all(re.search(r"micro_batch", text) for text in made) and project.knowledge(_has_replicas):
                    what = tr("counts the micro-batches of all replicas for each of them")
                    yield self._found(frame, value, what, tr("Divide by the data-parallel size as well."))

    def _of_all(self, frame: Frame, project: Project) -> Iterator[Finding]:
        """`global_batch // (micro_batch * world_size)`, in a tree that splits the model over those ranks as well."""
        for value in returns(frame) if project.knowledge(splits_models) else ():
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.FloorDiv):
                continue
            divisors = frame.definitions(value.right) or [(value.right, frame)]
            for divisor, where in divisors if len(divisors) == 1 else []:
                parts = [divisor.left, divisor.right] if isinstance(divisor, ast.BinOp) else [divisor]
                if any(size_axes(part, where) == WORLD for part in parts):
                    what = tr("counts the ranks that share one replica as replicas of their own")
                    advice = tr("Divide by the data-parallel size, not by that of all ranks.")
                    yield self._found(frame, value, what, advice)

    def _scale(self, cls: ClassFacts, attr: str, node: ast.BinOp) -> Finding:
        what = tr(
            "gives an auxiliary loss its full gradient in each micro-batch: nothing ever sets the factor"
        )
        return self.finding(
            place_of(cls.module, node),
            object=cls.name,
            evidence=(
                Evidence(
                    cls.module.display,
                    node.lineno,
                    tr("`%(cls)s.%(attr)s` keeps its first value", cls=cls.name, attr=attr),
                ),
            ),
            text=ast.unparse(node)[:60],
            what=what,
            advice=tr(
                "Set `%(cls)s.%(attr)s = 1.0 / num_microbatches` before each step.", cls=cls.name, attr=attr
            ),
        )

    def _found(
        self, frame: Frame, node: ast.expr, what: str, advice: str, right: ast.expr | None = None
    ) -> Finding:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and what.startswith("is divided"):
            right = node.left
        fix = unsafe(replace(frame.module, node, ast.unparse(right))) if right is not None else None
        text = tr("`%(node)s` %(what)s", node=ast.unparse(node), what=what)
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            evidence=(Evidence(frame.module.display, node.lineno, text),),
            text=ast.unparse(node)[:60],
            what=what,
            advice=advice,
            fix=fix,
        )


_MARKED = re.compile(r"['\"]sequence_parallel['\"]")


def _sums(frame: Frame) -> bool:
    """Whether the function itself sums over ranks, so that its quotient is a mean."""
    return any(
        isinstance(node, ast.Call) and "reduce" in ast.unparse(node.func)
        for part in frame.scope.body
        for node in walk(part)
    )


def _is_never_asked(function: ast.FunctionDef, project: Project) -> bool:
    """Whether nothing reads a property of this name."""
    is_property = any(ast.unparse(mark) == "property" for mark in function.decorator_list)
    read = re.compile(rf"\.{function.name}\b")
    return is_property and not written_anywhere(project, f".{function.name}", read)


def _has_replicas(project: Project) -> bool:
    return any("get_data_parallel_" in module.text for module in project.modules)


def _names(function: ast.FunctionDef) -> str:
    """All names of a function, without its texts."""
    parts = (getattr(node, "id", None) or getattr(node, "attr", None) for node in walk(function))
    return " ".join(part for part in parts if isinstance(part, str))


def _is_set(project: Project, cls: ClassFacts, attr: str) -> bool:
    """Whether anything in the tree stores the number, by its name."""
    stored = re.compile(rf"\b(\w*\.)*(?:{cls.name}|cls|self)\.{attr}\s*[*/]?=[^=]|setattr\(\s*{cls.name}\b")
    return any(stored.search(module.text) for module in project.modules if cls.name in module.words)


def _has_micro_batches(project: Project) -> bool:
    return any("num_microbatches" in module.text for module in project.modules)

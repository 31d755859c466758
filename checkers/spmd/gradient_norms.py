"""Gradient norms written by hand: what is added up over the parameters, and over which ranks it is summed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.nodes import children, walk
from ..project.project import Project
from .axes import last_name
from .collectives import Collective, Entered
from .frames import Frame, module_functions
from .names import Axes
from .reach import Reaches

_SQUARES = re.compile(
    r"\.grad\b.*(\.pow\(2(\.0)?\)|\*\* 2\b|\.square\(\)|\.norm\(|vector_norm\()|(norm|vector_norm)\(\w+\.grad"
)
_ROOT = re.compile(r"sqrt\(|\*\* 0\.5|\*\* \(1(\.0)? / |norm\(")
_MARKS = re.compile(
    r"tensor_model_parallel|duplicate|tensor_parallel|tp_rank|model_parallel_rank|is_split|partition_dim|shard"
)
_STAGES = re.compile(r"is_pipeline_|get_pipeline_model_parallel_(rank|world_size|group)")
_SCALES = re.compile(r"\.grad(\.data)?\.(mul_|copy_)\(|\.grad \*=")
_MAX_DEPTH = 3


@dataclass(frozen=True, eq=False)
class GradientNorm:
    """`node` adds up the squares of gradients; `group` is what a collective sums them over, None where none does."""

    node: ast.AST
    text: str
    group: Axes | None
    call: Collective | None
    is_filtered: bool
    is_scaled: bool
    uses_stages: bool


def gradient_norms(frame: Frame) -> Iterator[GradientNorm]:
    """The norms of one function, where what becomes of them can be seen."""
    function = frame.scope.function
    text = frame.module.text_of(function) if function is not None else ""
    if function is None or not (".grad" in text or "_foreach_norm(" in text):
        return
    found = next(_sums(frame), None)
    if found is None or not _ROOT.search(text):
        return
    node, target, tests = found
    entered = frame.project.knowledge(Entered).of(frame)
    sums = [entry for entry in entered if entry.name == "all_reduce" and _reduces(entry, target)]
    others = [entry for entry in entered if entry not in sums]
    if others or len(sums) > 1 or (sums and sums[0].axes is None):
        return
    if not sums and (frame.project.knowledge(Reaches).any(frame) or _takes_group(frame)):
        return
    yield GradientNorm(
        node,
        ast.unparse(node)[:70],
        sums[0].axes if sums else None,
        sums[0] if sums else None,
        _filtered(tests, frame) or _filtered_by_caller(frame),
        bool(_SCALES.search(text)) or _caller_scales(frame, function.name),
        frame.project.knowledge(uses_stages),
    )


def _caller_scales(frame: Frame, name: str) -> bool:
    """Whether a function of the file takes the norm, scales the gradients by it, and sums nothing itself."""
    for caller in module_functions(frame.project, frame.module):
        function = caller.scope.function
        text = frame.module.text_of(function) if function is not None else ""
        if f"{name}(" in text and function is not frame.scope.function and _SCALES.search(text):
            return not frame.project.knowledge(Entered).of(caller) and "reduce" not in text
    return False


def _sums(frame: Frame) -> Iterator[tuple[ast.AST, str, list[ast.expr]]]:
    """`total += p.grad.pow(2).sum()` in a loop over parameters, or a comprehension of such squares."""
    for node in frame.scope.nodes:
        if isinstance(node, ast.For):
            for part, tests in _inside(node.body, []):
                if isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add):
                    if _SQUARES.search(ast.unparse(part.value)):
                        yield part, ast.unparse(part.target), tests
        elif isinstance(node, ast.Call) and last_name(node.func) == "_foreach_norm" and node.args:
            held = [value for value, _ in frame.definitions(node.args[0])] or [node.args[0]]
            if len(held) == 1 and "grad" in ast.unparse(held[0]):
                parts = [part for part in walk(held[0]) if isinstance(part, ast.ListComp | ast.GeneratorExp)]
                turns = [turn for part in parts for turn in part.generators]
                tests = [test for turn in turns for test in (*turn.ifs, turn.iter)]
                yield node, ast.unparse(node.args[0]), tests or held
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            for part in walk(node.value):
                is_list = isinstance(part, ast.ListComp | ast.GeneratorExp)
                if is_list and _SQUARES.search(_with_gradients(part, frame)):  # type: ignore[arg-type]
                    generators: list[ast.comprehension] = part.generators  # type: ignore[attr-defined]
                    yield (
                        part,
                        node.targets[0].id,
                        [test for gen in generators for test in (*gen.ifs, gen.iter)],
                    )


def _with_gradients(node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> str:
    """What a comprehension lists; `g for g in grads` stands for `p.grad`, where `grads` lists those."""
    text = ast.unparse(node.elt)
    turn = node.generators[0]
    held = frame.definitions(turn.iter) if isinstance(turn.iter, ast.Name) else []
    if isinstance(turn.target, ast.Name) and len(held) == 1 and isinstance(held[0][0], ast.ListComp):
        if ast.unparse(held[0][0].elt).endswith(".grad"):
            return re.sub(rf"\b{turn.target.id}\b", "p.grad", text)
    return text


def _inside(body: list[ast.stmt], tests: list[ast.expr]) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """Statements of a loop with the tests around and before them."""
    seen = list(tests)
    for statement in body:
        if isinstance(statement, ast.If):
            seen.append(statement.test)
            yield from _inside(statement.body, seen)
            yield from _inside(statement.orelse, seen)
        else:
            yield statement, [*seen, *(part for part in children(statement) if isinstance(part, ast.expr))]
            inner = getattr(statement, "body", None)
            if isinstance(inner, list) and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield from _inside(inner, seen)


def _reduces(entry: Collective, target: str) -> bool:
    """Whether a sum goes over the ranks with the value, by its name or one made from it."""
    return bool(entry.node.args) and isinstance(entry.node.args[0], ast.Name) and bool(target)


def _takes_group(frame: Frame) -> bool:
    """Whether the caller may do the sum: the function returns what it added up, and scales nothing."""
    return any("group" in name for name in frame.scope.parameters)


def _filtered(tests: list[ast.expr], frame: Frame, depth: int = 0) -> bool:
    """Whether what is counted hangs on the tensor-parallel mark of a parameter, or on the own rank."""
    for test in tests:
        text = ast.unparse(test)
        if _MARKS.search(text.replace("get_tensor_model_parallel_group", "")):
            inner = [frame.callee(part) for part in walk(test) if isinstance(part, ast.Call)]
            if all(found is None for found in inner) or "'" in text:
                return True
        for part in walk(test):
            found = frame.callee(part) if isinstance(part, ast.Call) else None
            if found is not None and found.scope.function is not None and depth < _MAX_DEPTH:
                body = [node for node in found.scope.nodes if isinstance(node, ast.expr)]
                if any(
                    isinstance(node, ast.Constant | ast.Attribute) and _MARKS.search(_word(node))
                    for node in body
                ):
                    return True
                if _filtered([node for node in body if isinstance(node, ast.Call)], found, depth + 1):
                    return True
            elif isinstance(part, ast.Call) and found is None and _unknown(part):
                return True
        if (
            isinstance(test, ast.Name)
            and not frame.definitions(test)
            and depth == 0
            and test.id not in _plain(frame)
        ):
            return True
    return False


_DUPLICATES = re.compile(r"(tensor_parallel|tp)_duplicate")


def _filtered_by_caller(frame: Frame) -> bool:
    """Whether the function is given its parameters, in a tree that leaves duplicates out where it lists them."""
    given = [name for name in frame.scope.parameters if "param" in name]
    return bool(given) and any(module.says(_DUPLICATES) for module in frame.project.modules)


def _word(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else getattr(node, "attr", "")


def _unknown(call: ast.Call) -> bool:
    """A call that may know more of a parameter than can be seen."""
    name = ast.unparse(call.func).rsplit(".", 1)[-1]
    return (
        name
        not in (
            "parameters named_parameters values items list getattr hasattr isinstance len pow sum float square norm "
            "vector_norm detach to double tensor zeros abs item append data chain enumerate tqdm filter"
        ).split()
    )


def _plain(frame: Frame) -> set[str]:
    return {*frame.scope.parameters, *frame.scope.bound}


_SPLITS = re.compile(
    r"model_parallel|\bmegatron\.core\b|(tensor|pipeline)_parallel_|(Column|Row)\w*Parallel|ParallelEmbedding|\b(tp|pp)_(rank|group|size)"
)


def splits_models(project: Project) -> bool:
    """Whether anything in the tree splits a model: groups for sequences, contexts or data alone do not."""
    return any(m.says(_SPLITS) for m in project.modules if not project.is_copied_framework(m))


def uses_stages(project: Project) -> bool:
    """Whether the tree runs a pipeline at all."""
    return any(module.says(_STAGES) for module in project.modules)

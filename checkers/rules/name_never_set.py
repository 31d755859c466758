"""E7320"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import children, walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.module_names import names_missing, written_files
from ..project.scopes import own_nodes
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NAMED = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


class NameNeverSet(Rule):
    """A file of a distributed model reads a name that nothing has set."""

    code, symbol = "E7320", "name-never-set"
    message = "`%(name)s` is read %(how)s"
    advice = "Import or define `%(name)s`, or correct its spelling."
    why = "Python looks a name up when the line runs. On a cluster that is after the queue, on some ranks."
    symptom = Symptom.CRASH
    runtime = "NameError: name 'Dataset' is not defined, or UnboundLocalError"
    limits = (
        "Training scripts, stages and distributed modules. Silent for files with `import *`, `globals()` or `exec`, "
        "in annotations, in a `try`, and behind a test of a flag that the file sets to False."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.training import pretrain


    def train_valid_test_datasets_provider(sizes):
        return Forecasts("train"), Forecasts("valid"), None  # [name-never-set]


    def main(model_provider, forward_step):
        pretrain(train_valid_test_datasets_provider, model_provider, None, forward_step)
    """
    good = """
    from datasets import Forecasts
    from megatron.training import pretrain


    def train_valid_test_datasets_provider(sizes):
        return Forecasts("train"), Forecasts("valid"), None


    def main(model_provider, forward_step):
        pretrain(train_valid_test_datasets_provider, model_provider, None, forward_step)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in filter(analysis.project.is_asked, written_files(analysis.project)):
            yield from self._missing(module)
            for function in walk(module.tree):
                if type(function) is ast.FunctionDef:
                    for node in _read_too_early(function):
                        how = tr("in `%(function)s` before it is set there", function=function.name)
                        yield self._found(module, function.name, [node], how)

    def _missing(self, module: ModuleFacts) -> Iterator[Finding]:
        missing = names_missing(module)
        if not missing:
            return
        reads: dict[str, list[ast.Name]] = {}
        for node in _evaluated(module.tree, _switched_off(module), frozenset()):
            if node.id in missing:
                reads.setdefault(node.id, []).append(node)
        for nodes in reads.values():
            how = tr("and never set: no import, assignment or builtin of that name is in the file")
            yield self._found(module, "", sorted(nodes, key=lambda node: node.lineno), how)

    def _found(self, module: ModuleFacts, owner: str, nodes: list[ast.Name], how: str) -> Finding:
        lines = dict.fromkeys(node.lineno for node in nodes[1:] if node.lineno != nodes[0].lineno)
        return self.finding(
            place_of(module, nodes[0]),
            object=owner,
            evidence=tuple(Evidence(module.display, line, tr("read here, too")) for line in lines),
            name=nodes[0].id,
            how=how,
        )


def _switched_off(module: ModuleFacts) -> set[str]:
    """Names of the module that are False for good: what stands behind them does not run."""
    return {
        name
        for name, bindings in module.bindings.items()
        if all(isinstance(b.value, ast.Constant) and b.value.value is False for b in bindings)
    } | {"TYPE_CHECKING"}


def _evaluated(node: ast.AST, off: set[str], local: frozenset[str]) -> Iterator[ast.Name]:
    """Names of the module that are read when the code runs; annotations, and what is tried, are left out."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
        yield node
    if isinstance(node, ast.Try | ast.AnnAssign | ast.arg):
        parts: list[ast.AST] = []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            parts = [node.value]
        elif isinstance(node, ast.Try):
            parts = [*node.orelse, *node.finalbody]
    elif isinstance(node, ast.If) and _is_off(node.test, off):
        parts = list(node.orelse)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        local |= _bound(node)
        parts = [*node.decorator_list, node.args, *node.body]
    elif isinstance(node, ast.Lambda):
        local |= {arg.arg for arg in walk(node.args) if isinstance(arg, ast.arg)}
        parts = children(node)
    else:
        parts = children(node)
    behind = {id(part) for part in _behind_the_end(node)}
    for part in parts:
        if id(part) not in behind:
            yield from _evaluated(part, off, local)
        if (
            isinstance(part, ast.If)
            and isinstance(part.test, ast.Name)
            and isinstance(part.body[-1], ast.Raise)
        ):
            off = off | {part.test.id}  # refused already: what asks for it once more does not run


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of a function's own: parameters, and what its statements set."""
    own = [node for statement in function.body for node in own_nodes(statement)]
    shared = {name for node in own if isinstance(node, ast.Global) for name in node.names}
    found = {arg.arg for arg in walk(function.args) if isinstance(arg, ast.arg)}
    return (found | {name for node in own for name, _ in _sets(node)}) - shared


def _behind_the_end(node: ast.AST) -> Iterator[ast.stmt]:
    """Statements that stand behind a raise or return of their block: they never run."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        ends = [isinstance(part, ast.Raise | ast.Return) for part in block] if isinstance(block, list) else []
        if True in ends and isinstance(block, list):
            yield from block[ends.index(True) + 1 :]


def _is_off(test: ast.expr, off: set[str]) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_off(part, off) for part in test.values)
    if isinstance(test, ast.Constant):
        return not test.value
    return any(isinstance(part, ast.Name | ast.Attribute) and _last(part) in off for part in [test])


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _read_too_early(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """Reads of a local name that stand before everything that sets it, and not in a loop with any of that."""
    own = [node for statement in function.body for node in own_nodes(statement)]
    spec = function.args
    given = {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    given |= {arg.arg for arg in (spec.vararg, spec.kwarg) if arg is not None}
    shared = {name for node in own if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    hidden = _in_comprehensions(own)
    first: dict[str, int] = {}
    for node in own:
        for name, line in _sets(node):
            if id(node) not in hidden:
                first[name] = min(first.get(name, line), line)
    loops = [(node.lineno, node.end_lineno or 0) for node in own if isinstance(node, _LOOPS)]
    tried = [(node.lineno, node.end_lineno or 0) for node in own if isinstance(node, ast.Try)]
    seen: set[str] = set()
    for node in own:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or id(node) in hidden:
            continue
        if node.lineno >= first.get(node.id, 0) or node.id in given | shared | seen:
            continue
        if not any(start <= node.lineno <= end for start, end in (*loops, *tried)):
            seen.add(node.id)
            yield node


def _sets(node: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, node.lineno
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name.split(".")[0], node.lineno) for alias in node.names)
    elif isinstance(node, _NAMED) and node.name:
        yield node.name, node.lineno


def _in_comprehensions(own: list[ast.AST]) -> set[int]:
    """What stands in comprehensions, which have names of their own."""
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return {id(part) for node in own if isinstance(node, kinds) for part in walk(node)}

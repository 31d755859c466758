"""W7409"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.distributed import distributed_classes, original_of, original_path
from ..project.project import FunctionRef, Project
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import head
from ..tpstate.events import Site

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

Definition = ast.ClassDef | ast.FunctionDef


class ModuleReimplemented(Rule):
    """A distributed file defines again what the project already has."""

    code, symbol = "W7409", "module-reimplemented"
    message = "`%(name)s` does again what `%(other)s` does (%(path)s:%(line)d)"
    advice = "Use the one that is there: `from %(module)s import %(other)s`."
    why = "Two copies drift apart: a correction of one leaves the distributed model with the fault."
    symptom = Symptom.TRAP
    runtime = "no effect until one copy changes"
    limits = (
        "Only definitions that are the same but for docstrings, comments and annotations: of the same name, or a "
        "distributed class against its original. Models and scripts are not compared."
    )
    guide = "Principles: reuse the project's modules"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class IceMlp(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fc = nn.Linear(dim, dim)

        def forward(self, x):
            return self.fc(x)


    class IceDistributedMlp(nn.Module):  # [module-reimplemented]
        def __init__(self, dim):
            super().__init__()
            self.fc = nn.Linear(dim, dim)

        def forward(self, x):
            return self.fc(x)
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class IceMlp(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.fc = nn.Linear(dim, dim)

        def forward(self, x):
            return self.fc(x)


    class IceDistributedMlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

        def forward(self, x):
            return self.fc(x)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        distributed = distributed_classes(project)
        for cls in distributed:
            original = original_of(project, cls)
            if original is None or _signature(original.node) != _signature(cls.node):
                continue
            if _shape(original.node).replace(original.name, cls.name) == _shape(cls.node):
                yield self._finding(cls.module, cls.node, original.module, original.node)
        owners = list(
            {
                id(cls.module): cls.module for cls in distributed if "distributed" in cls.module.path.stem
            }.values()
        )
        wanted = {name for module in owners for name in _definitions(project, module)}
        elsewhere: dict[str, list[tuple[ModuleFacts, Definition]]] = defaultdict(list)
        for module in _others(project, owners, wanted):
            for name, node in _definitions(project, module, wanted).items():
                elsewhere[name].append((module, node))
        for module in owners:
            for name, node in _definitions(project, module).items():
                same = next((pair for pair in elsewhere[name] if _is_same(node, pair[1])), None)
                if same is not None:
                    yield self._finding(module, node, *same)

    def _finding(
        self, module: ModuleFacts, node: Definition, other: ModuleFacts, there: Definition
    ) -> Finding:
        return self.finding(
            head(Site(module, node), node),
            object=node.name,
            evidence=(
                Evidence(other.display, there.lineno, tr("`%(there)s` is already here", there=there.name)),
            ),
            name=node.name,
            other=there.name,
            path=other.display,
            line=there.lineno,
            module=other.name,
        )


def _others(project: Project, owners: list[ModuleFacts], wanted: set[str]) -> Iterator[ModuleFacts]:
    """Files that are not distributed: those that were read, the originals of those that are, and what these import."""
    seen = {id(module) for module in owners}
    originals = [path for module in owners if (path := original_path(module.path)) is not None]
    read = [project.module_at(path) for path in originals if project.files.exists(path)]
    known = [module for module in read if module is not None]
    named = [project.resolve(module, name) for module in known for name in wanted & module.bindings.keys()]
    known += [ref.module for ref in named if isinstance(ref, ClassFacts | FunctionRef)]
    for module in [*project.modules, *known]:
        if id(module) not in seen and not project.is_framework(module):
            seen.add(id(module))
            yield module


def _definitions(
    project: Project, module: ModuleFacts, wanted: set[str] | None = None
) -> dict[str, Definition]:
    """Module classes and functions that a file defines, by name; models and scripts define others of their own."""
    if (
        (wanted is not None and wanted.isdisjoint(module.bindings))
        or "models" in module.path.parts
        or "__main__" in module.text
    ):
        return {}
    found: dict[str, Definition] = {}
    for name in module.bindings if wanted is None else wanted & module.bindings.keys():
        value = module.bindings[name][-1].value
        if isinstance(value, ClassFacts) and project.is_module_class(value):
            found[name] = value.node
        elif isinstance(value, ast.FunctionDef):
            found[name] = value
    return found


def _is_same(one: Definition, other: Definition) -> bool:
    return (
        type(one) is type(other)
        and len(one.body) > 1
        and _signature(one) == _signature(other)
        and _shape(one) == _shape(other)
    )


def _signature(node: ast.ClassDef | ast.FunctionDef) -> object:
    """The names a definition has: cheap to compare, and enough to tell most apart."""
    if isinstance(node, ast.FunctionDef):
        return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return [(part.name, _signature(part)) for part in node.body if isinstance(part, ast.FunctionDef)]


def _shape(node: Definition) -> str:
    """What a definition does: its tree without docstrings and annotations."""
    tree = ast.parse(ast.unparse(node))
    for part in ast.walk(tree):
        if isinstance(part, ast.ClassDef | ast.FunctionDef):
            first = part.body[0] if part.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(part.body) > 1:
                part.body = part.body[1:]
        if isinstance(part, ast.FunctionDef):
            part.returns = None
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.dump(tree)

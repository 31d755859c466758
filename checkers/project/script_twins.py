"""The training scripts of an original held against those of its stages: what the model and the loss are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from .loss_binding import loss_bindings
from .originals import Originals, plain_name
from .project import External, FunctionRef, Project, dotted_name
from .scopes import Scope
from .stage_calls import stage_calls
from .training import Training, TrainingScript

_MOST = 6


@dataclass(frozen=True, eq=False)
class Built:
    """A call that builds the original or its stages, with its arguments by name; `where` is the scope."""

    where: Scope
    node: ast.Call
    given: dict[str, ast.expr]


@dataclass(frozen=True, eq=False)
class Loss:
    """The call or expression that a script trains with. `ref` is the function or class that it calls."""

    where: Scope
    node: ast.expr
    ref: object
    name: str
    count: int


@dataclass(frozen=True, eq=False)
class ScriptTwin:
    """One script of stages with the original model; `first` builds the original in another script."""

    script: TrainingScript
    original: ClassFacts
    stages: tuple[ClassFacts, ...]
    mine: Built
    first: Built


def script_twins(project: Project) -> list[ScriptTwin]:
    """Every script whose stages and whose original are built by one call each; worked out once."""
    return project.knowledge(_script_twins)


def _script_twins(project: Project) -> list[ScriptTwin]:
    found = []
    for script in project.knowledge(Training):
        original = project.knowledge(Originals).of(script.family) if script.family is not None else None
        calls = list(stage_calls(script)) if original is not None else []
        if original is None or len({id(node) for node, _, _ in calls}) != 1:
            continue
        classes = tuple(stage.cls for _, _, stage in calls)
        node, where, _ = calls[0]
        mine, firsts = (
            _built(project, node, where, classes[0]),
            list(_original_calls(project, script, original)),
        )
        if mine is not None and len(firsts) == 1:
            found.append(ScriptTwin(script, original, classes, mine, firsts[0]))
    return found


def _original_calls(project: Project, script: TrainingScript, original: ClassFacts) -> Iterator[Built]:
    """The calls that build the original, in the scripts that lie nearest to the one of the stages."""
    near: dict[int, list[Built]] = {}
    own = script.module.path.parts
    for module in _scripts(project, script, original):
        pairs = enumerate(zip(own, module.path.parts, strict=False))
        shared = next((index for index, (a, b) in pairs if a != b), len(own))
        for scope in Scope(module).all_scopes():
            for call in scope.calls:
                name = dotted_name(call.func)
                if name is not None and project.resolve(module, name) is original:
                    built = _built(project, call, scope, original)
                    near.setdefault(shared, []).extend([built] if built is not None else [])
    yield from near[max(near)] if near else ()


def _scripts(project: Project, script: TrainingScript, original: ClassFacts) -> Iterator[ModuleFacts]:
    """Files that may build the original: what was read, and the scripts in the folder of the original's name."""
    known = [module for module in project.modules if original.name in module.words]
    yield from known
    here = script.module.path.parent
    for name in sorted(project.files.names_in(here.parent)):
        folder = here.parent / name
        if folder == here or plain_name(name) != plain_name(here.name):
            continue
        for file in sorted(project.files.names_in(folder)):
            module = project.module_at(folder / file) if file.endswith(".py") else None
            if module is not None and module not in known and original.name in module.words:
                yield module


def _built(project: Project, node: ast.Call, where: Scope, cls: ClassFacts) -> Built | None:
    """A call with its arguments by name; None where some cannot be seen."""
    names = parameters(project, cls)
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        return None
    given = dict(zip(names, node.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
    return Built(where, node, given)


def parameters(project: Project, cls: ClassFacts) -> dict[str, ast.expr | None]:
    """The parameters of a constructor with their defaults, in order."""
    found = project.method(cls, "__init__")
    if found is None:
        return {}
    spec = found[1].args
    every = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(every) - len(spec.defaults)) + list(spec.defaults)
    named = dict(zip((arg.arg for arg in every), defaults, strict=True)) | {
        arg.arg: default for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    }
    return dict(list(named.items())[1:])


def original_loss(twin: ScriptTwin) -> Loss | None:
    """What the original's script calls `backward` of."""
    module = twin.first.where.module
    found = [
        (node.func.value, scope)
        for scope in Scope(module).all_scopes()
        for node in scope.calls
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward" and not node.args
    ]
    return _loss(twin.script.project, *found[0]) if len(found) == 1 else None


def staged_loss(twin: ScriptTwin) -> Loss | None:
    """What the loss function of the stages returns first."""
    found = []
    for step in twin.script.forward_steps:
        for binding in loss_bindings(twin.script, step):
            loss = binding.loss
            for node in loss.nodes if loss is not None else ():
                if loss is not None and isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    made = _loss(twin.script.project, node.value.elts[0], loss)
                    found += [made] if made is not None else []
    return found[0] if len(found) == 1 else None


def _loss(project: Project, node: ast.expr, scope: Scope) -> Loss | None:
    for _ in range(_MOST):
        if not isinstance(node, ast.Name):
            break
        value = scope.value(node.id)
        if value is None:
            return None
        node = value
    if not isinstance(node, ast.Call):
        return Loss(scope, node, None, "", 0)
    made = node.func.func if isinstance(node.func, ast.Call) else node.func
    if isinstance(made, ast.Name) and (bound := scope.value(made.id)) is not None:
        made = bound.func if isinstance(bound, ast.Call) else bound  # `criterion = L1(); criterion(a, b)`
    name = dotted_name(made)
    ref = _target(project, scope.module, name) if name is not None else None
    return Loss(scope, node, ref, name or "", len(node.args) + len(node.keywords))


def _target(project: Project, module: ModuleFacts, name: str) -> object:
    """What a name means, the same for every file that means it; None for methods and local names."""
    ref = project.resolve(module, name)
    if isinstance(ref, FunctionRef):
        return ref.node
    if isinstance(ref, External):
        return ref.dotted
    return ref if isinstance(ref, ClassFacts) else None

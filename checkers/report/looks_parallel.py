"""What was looked at for the checklist of tensor parallelism."""

from __future__ import annotations

from ..project.project import FunctionRef
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import Verdict, judge
from ..tpstate.provider_table import ROW
from ..tpstate.values import Tensor
from .looks import Scene, Unseen, count, original
from .model import Mark


def parallel_layers(scene: Scene) -> str:
    found = {m.site.key for m in scene.subject.tree.modules() if m.kind == "parallel" and m.site is not None}
    if not found:
        raise Unseen("no parallel layer was found below the stages")
    return count(len(found), "parallel layer")


def chain(scene: Scene) -> str:
    """Every module from the stages down to the last layer."""
    said, unresolved = parallel_layers(scene), scene.subject.tree.unresolved
    places = dict.fromkeys(
        (m.name, m.site.module.display, m.site.node.lineno) for m in unresolved if m.site is not None
    )
    if places:
        name, path, line = next(iter(places))
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        raise Unseen(f"what `{name}` is ({path}:{line}){more} could not be resolved")
    return f"{said}, every module on the way resolved"


def distributed_chain(scene: Scene) -> str:
    """Every module on the way, none of them a linear layer that stays whole."""
    said = chain(scene)
    allowed = scene.subject.project.settings.allow_plain_linear
    plain = [
        m
        for m in scene.subject.tree.modules()
        if m.kind == "plain" and m.dotted.rsplit(".", 1)[-1] not in allowed
    ]
    leaves = [m for m in plain if not m.children and m.site is not None]
    if leaves and leaves[0].site is not None:
        site = leaves[0].site
        where = f"{site.module.display}:{site.node.lineno}"
        raise Unseen(
            f"`{leaves[0].name}` ({where}) stays whole on every rank, which is right for a small layer alone"
        )
    return said


def attention(scene: Scene) -> str:
    """Every attention module."""
    said = chain(scene)
    found = {
        id(m.cls or m.dotted)
        for m in scene.subject.tree.modules()
        if "Attention" in m.dotted.rsplit(".", 1)[-1]
    }
    return f"{count(len(found), 'attention module')}; {said}" if found else f"no attention module; {said}"


def windows(scene: Scene) -> str:
    """Every file of the modules, and of the functions they import, that rolls a tensor."""
    chain(scene)
    project = scene.subject.project
    files = {cls.module.path: cls.module for cls in scene.subject.classes.values()}
    for module in list(files.values()):
        refs = (project.resolve(module, name) for name in module.bindings)
        files.update({ref.module.path: ref.module for ref in refs if isinstance(ref, FunctionRef)})
    found = [
        module for module in files.values() if ".roll(" in module.text and not project.is_framework(module)
    ]
    return (
        f"{count(len(found), 'file')} that roll windows"
        if found
        else f"none of {len(files)} files rolls a window"
    )


def heads(scene: Scene) -> str:
    """Every class that takes head counts."""
    chain(scene)
    found = [cls.name for cls in scene.subject.classes.values() if "num_heads" in cls.text]
    sizes = scene.subject.project.settings.tp
    said = f"for sizes {', '.join(map(str, sizes))}" if sizes else "checked where the model is built"
    return f"{count(len(found), 'class')} with heads, {said}" if found else "no class has attention heads"


def row_inputs(scene: Scene) -> str:
    """The inputs of all row-parallel layers."""
    parallel_layers(scene)
    calls = _row_calls(scene)
    if not calls:
        raise Unseen("no call of a RowParallelLinear was followed")
    open_calls = [key for key, events in calls.items() if all(judge(e) is Verdict.UNKNOWN for e in events)]
    if open_calls:
        path, line, _ = open_calls[0]
        raise Unseen(
            f"{len(open_calls)} of {len(calls)} RowParallelLinear inputs could not be decided ({path}:{line})"
        )
    return f"the inputs of {count(len(calls), 'RowParallelLinear call')}, all decided"


def concatenated_inputs(scene: Scene) -> str:
    row_inputs(scene)
    found = [k for k, events in _row_calls(scene).items() if any(_is_joined(e) for e in events)]
    return f"RowParallelLinear calls that get a concatenation: {len(found)}"


def _is_joined(event: ParallelCall) -> bool:
    return isinstance(event.given, Tensor) and "cat" in event.given.role


def _row_calls(scene: Scene) -> dict[tuple[str, int, int], list[ParallelCall]]:
    paths = {cls.module.display for cls in scene.subject.classes.values()}
    found: dict[tuple[str, int, int], list[ParallelCall]] = {}
    for event in scene.subject.analysis.log.events:
        if isinstance(event, ParallelCall) and event.row.kind == ROW and event.site.module.display in paths:
            if event.owner is None or id(event.owner) in scene.subject.classes:
                found.setdefault(event.site.key, []).append(event)
    return found


def distributed_modules(scene: Scene) -> str:
    if not scene.tables.registries:
        raise Unseen("no distributed module was found below the stages")
    return count(len(scene.tables.registries), "distributed module")


def counterparts(scene: Scene) -> str:
    said = f"{distributed_modules(scene)}, {original(scene)}"
    unknown = [row for row in scene.tables.files if row.mark is Mark.OPEN]
    if unknown:
        raise Unseen(f"{unknown[0].original}: {unknown[0].note}")
    return said

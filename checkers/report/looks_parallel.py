"""What was looked at for the checklist of tensor parallelism."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from ..finding import Finding
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import Verdict, judge
from ..tpstate.provider_table import PAIR, ROW
from ..tpstate.values import Tensor
from .call_tree import nodes
from .looks import Nothing, Scene, Unseen, count, original
from .model import Mark, Node

_OWN = re.compile(r"\b(?:nn\.Parameter|all_reduce|all_gather\w*|reduce_scatter\w*|broadcast)\(")
_FIRST_OF_PAIR = re.compile(r"^\s*(?!_\b)[\w.]+, _\w* = |\)\[0\]")


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
    if not found:
        raise Nothing(f"no attention module; {said}")
    raise Unseen(
        f"what {count(len(found), 'attention module')} makes of the heads of one rank is read by hand"
    )


def windows(scene: Scene) -> str:
    """Every file of the modules, and of the functions they import, that rolls a tensor."""
    chain(scene)
    found = sorted({module.display for module, text in scene.subject.reach.texts() if "roll(" in text})
    if not found:
        raise Nothing(f"none of {len(scene.subject.reach.modules)} files rolls a window")
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    raise Unseen(f"shifts, their axes and the mask in {found[0]}{more} are compared by hand")


def heads(scene: Scene) -> str:
    """Every class that takes head counts."""
    chain(scene)
    found = [cls.name for cls in scene.subject.classes.values() if "num_heads" in cls.text]
    if not found:
        raise Nothing("no class has attention heads")
    sizes = scene.subject.project.settings.tp
    if not sizes:
        raise Unseen("the tensor-parallel sizes are not known: say them with --tp or in the settings")
    return f"{count(len(found), 'class')} with heads, for sizes {', '.join(map(str, sizes))}"


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
    if not found:
        raise Nothing("no RowParallelLinear gets a concatenation")
    return f"RowParallelLinear calls that get a concatenation: {len(found)}"


def is_of_concatenation(scene: Scene, finding: Finding) -> bool:
    """Whether a finding is about a row-parallel layer that gets a concatenation."""
    if finding.symbol == "cat-of-shards":
        return True
    joined = {key[:2] for key, events in _row_calls(scene).items() if any(map(_is_joined, events))}
    return (finding.place.path, finding.place.line) in joined


def split_values(scene: Scene) -> str:
    """Values between a column-parallel and a row-parallel layer; attention does more with them than can be followed."""
    said = row_inputs(scene)
    with suppress(Nothing):
        attention(scene)
    return said


def pairs(scene: Scene) -> str:
    """The lines that call a parallel layer: each must be seen to take the first of the pair."""
    said = parallel_layers(scene)
    paths = {cls.module.display for cls in scene.subject.classes.values()}
    for event in scene.subject.analysis.log.events:
        if (
            isinstance(event, ParallelCall)
            and event.row.returns == PAIR
            and event.site.module.display in paths
        ):
            line = event.site.node.lineno
            text = "\n".join(event.site.module.lines[line - 1 : event.site.node.end_lineno])
            if not _FIRST_OF_PAIR.search(text):
                raise Unseen(
                    f"what becomes of the pair at {event.site.module.display}:{line} is read by hand"
                )
    return said


def handed_config(scene: Scene) -> str:
    """Whether config was seen to arrive at every parallel layer."""
    said = chain(scene)
    for root in nodes(scene.subject.tree):
        for node in _walk(root):
            if node.kind in ("parallel", "distributed") and node.config == "stops":
                raise Unseen(f"config stops before `{node.name}` ({node.at})")
    return said


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def fusers(scene: Scene) -> str:
    """Fusers that may be given a dict or an object."""
    distributed_modules(scene)
    found = [
        cls for cls in scene.subject.classes.values() if "Fuser" in cls.name and "forward" in cls.methods
    ]
    open_ = [cls.name for cls in found if re.search(r"isinstance|getattr|\.get\(|\bmask", cls.text)]
    if not open_:
        raise Nothing("no fuser takes a dict or an object")
    raise Unseen(f"what {open_[0]} takes and hands on is read by hand")


def own_parameters(scene: Scene) -> str:
    """Parameters and collectives outside of the parallel layers."""
    said = parallel_layers(scene)
    for module, text in scene.subject.reach.texts():
        if match := _OWN.search(text):
            raise Unseen(
                f"`{match.group()[:-1]}` in {module.display}: whether all ranks agree is read by hand"
            )
    return f"{said}; no class makes parameters of its own or calls a collective"


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

"""What was looked at for the checklist of tensor parallelism."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from ..finding import Finding
from ..language import counted, listed, tr
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import Verdict, judge, size
from ..tpstate.provider_table import PAIR, ROW
from ..tpstate.states import State
from ..tpstate.values import Tensor
from .call_tree import nodes
from .looks import Nothing, Scene, Unseen, original
from .model import Mark, Node

_OWN = re.compile(r"\b(?:nn\.Parameter|all_reduce|all_gather\w*|reduce_scatter\w*|broadcast)\(")
_FIRST_OF_PAIR = re.compile(r"^\s*(?!_\b)[\w.]+, _\w* = |\)\[0\]")


def parallel_layers(scene: Scene) -> str:
    found = {m.site.key for m in scene.subject.tree.modules() if m.kind == "parallel" and m.site is not None}
    if not found:
        raise Unseen(tr("no parallel layer was found below the stages"))
    return counted(len(found), "parallel layer")


def chain(scene: Scene) -> str:
    """Every module from the stages down to the last layer."""
    said, unresolved = parallel_layers(scene), scene.subject.tree.unresolved
    places = dict.fromkeys(
        (m.name, m.site.module.display, m.site.node.lineno) for m in unresolved if m.site is not None
    )
    if places:
        name, path, line = next(iter(places))
        more = tr(" and %(number)s more", number=len(places) - 1) if len(places) > 1 else ""
        raise Unseen(
            tr(
                "what `%(name)s` is (%(path)s:%(line)s)%(more)s could not be resolved",
                name=name,
                path=path,
                line=line,
                more=more,
            )
        )
    return tr("%(said)s, every module on the way resolved", said=said)


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
            tr(
                "`%(leaves)s` (%(where)s) stays whole on every rank, which is right for a small layer alone",
                leaves=leaves[0].name,
                where=where,
            )
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
        raise Nothing(tr("no attention module; %(said)s", said=said))
    raise Unseen(
        tr(
            "what %(count)s makes of the heads of one rank is read by hand",
            count=counted(len(found), "attention module"),
        )
    )


def windows(scene: Scene) -> str:
    """Every file of the modules, and of the functions they import, that rolls a tensor."""
    chain(scene)
    found = sorted({module.display for module, text in scene.subject.reach.texts() if "roll(" in text})
    if not found:
        raise Nothing(tr("none of %(number)s files rolls a window", number=len(scene.subject.reach.modules)))
    more = tr(" and %(number)s more", number=len(found) - 1) if len(found) > 1 else ""
    raise Unseen(
        tr(
            "shifts, their axes and the mask in %(found)s%(more)s are compared by hand",
            found=found[0],
            more=more,
        )
    )


def heads(scene: Scene) -> str:
    """Every class that takes head counts."""
    chain(scene)
    found = [cls.name for cls in scene.subject.classes.values() if "num_heads" in cls.text]
    if not found:
        raise Nothing(tr("no class has attention heads"))
    sizes = scene.subject.project.settings.tp
    if not sizes:
        raise Unseen(tr("the tensor-parallel sizes are not known: say them with --tp or in the settings"))
    return tr(
        "%(count)s with heads, for sizes %(sizes)s",
        count=counted(len(found), "class"),
        sizes=", ".join(map(str, sizes)),
    )


def row_inputs(scene: Scene) -> str:
    """The inputs of all row-parallel layers."""
    parallel_layers(scene)
    calls = _row_calls(scene)
    if not calls:
        raise Unseen(tr("no call of a RowParallelLinear was followed"))
    open_calls = [key for key, events in calls.items() if all(judge(e) is Verdict.UNKNOWN for e in events)]
    if open_calls:
        path, line, _ = open_calls[0]
        raise Unseen(
            tr(
                "%(number)s of %(total)s RowParallelLinear inputs could not be decided (%(path)s:%(line)s)",
                number=len(open_calls),
                total=len(calls),
                path=path,
                line=line,
            )
        )
    return tr("the inputs of %(count)s, all decided", count=counted(len(calls), "RowParallelLinear call"))


def paired_widths(scene: Scene) -> str:
    """The inputs of all row-parallel layers, and whether those of a pair have as many channels as they are given."""
    said = row_inputs(scene)
    for (path, line, _), events in _row_calls(scene).items():
        widths = [
            (event.given.width, size(event.layer, event.row, 0))
            for event in events
            if isinstance(event.given, Tensor) and event.given.state is State.SHARDED
        ]
        known = [(given, takes) for given, takes in widths if given is not None and takes is not None]
        if known and all(given != takes for given, takes in known):
            raise Unseen(
                tr(
                    "whether the layer takes as many channels as it is given was not decided (%(path)s:%(line)s)",
                    path=path,
                    line=line,
                )
            )
    return said


def concatenated_inputs(scene: Scene) -> str:
    row_inputs(scene)
    found = [k for k, events in _row_calls(scene).items() if any(_is_joined(e) for e in events)]
    if not found:
        raise Nothing(tr("no RowParallelLinear gets a concatenation"))
    return tr("RowParallelLinear calls that get a concatenation: %(number)s", number=len(found))


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
                    tr(
                        "what becomes of the pair at %(module)s:%(line)s is read by hand",
                        module=event.site.module.display,
                        line=line,
                    )
                )
    return said


def handed_config(scene: Scene) -> str:
    """Whether config was seen to arrive at every parallel layer."""
    said = chain(scene)
    for root in nodes(scene.subject.tree):
        for node in _walk(root):
            if node.kind in ("parallel", "distributed") and node.config == "stops":
                raise Unseen(tr("config stops before `%(node)s` (%(at)s)", node=node.name, at=node.at))
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
        raise Nothing(tr("no fuser takes a dict or an object"))
    raise Unseen(tr("what %(open)s takes and hands on is read by hand", open=open_[0]))


def own_parameters(scene: Scene) -> str:
    """Parameters and collectives outside of the parallel layers."""
    said = parallel_layers(scene)
    for module, text in scene.subject.reach.texts():
        if match := _OWN.search(text):
            raise Unseen(
                tr(
                    "`%(group)s` in %(module)s: whether all ranks agree is read by hand",
                    group=match.group()[:-1],
                    module=module.display,
                )
            )
    return tr("%(said)s; no class makes parameters of its own or calls a collective", said=said)


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
        raise Unseen(tr("no distributed module was found below the stages"))
    return counted(len(scene.tables.registries), "distributed module")


def counterparts(scene: Scene) -> str:
    said = listed(", ", (distributed_modules(scene), original(scene)))
    unknown = [row for row in scene.tables.files if row.mark is Mark.OPEN]
    if unknown:
        raise Unseen(tr("%(what)s: %(note)s", what=unknown[0].original, note=unknown[0].note))
    return said

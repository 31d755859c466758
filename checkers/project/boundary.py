"""What crosses the boundaries of a stage family: received, unpacked, returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .dispatchers import Branch, branches
from .flow import Flow, Seen, Trace
from .origin import Origin
from .project import Project
from .stages import Stage, Stages


@dataclass(frozen=True)
class Sent:
    """One tensor (or what stands in its place) of a returned tuple. `name` is the variable, where there is one."""

    seen: Seen
    index: int
    count: int
    name: str
    node: ast.AST
    origin: Origin


class StageFlow:
    """The forward of one stage, followed as the first stage, as a later one, or as both where that is open."""

    def __init__(self, project: Project, stage: Stage) -> None:
        self.project, self.stage = project, stage
        roles = [not stage.is_first] if stage.family.ordered else [True, False]
        self.traces = [Flow(project, stage.cls, receives).run() for receives in roles]
        if not stage.family.ordered and not self.traces[0].reads and not self.traces[0].fed:
            self.traces = self.traces[1:]
        self.receiving: Trace | None = (
            self.traces[0] if roles[0] and (stage.family.ordered or len(self.traces) > 1) else None
        )

    @property
    def reads_input(self) -> bool:
        """Whether the forward, or a submodule that is given it, reads the received tensors."""
        return any(trace.reads or trace.fed for trace in self.traces)

    @property
    def sends(self) -> bool:
        """Whether what it returns goes to another stage: known, or meant by its name where ranks are not known."""
        if self.stage.family.ordered:
            return not self.stage.is_last
        return "stage" in self.stage.cls.name.lower()

    def sent(self) -> list[Sent]:
        """Every element of every returned tuple, and single results."""
        found = []
        for trace in self.traces:
            for seen in trace.returns:
                node = seen.node.value if isinstance(seen.node, ast.Return) else None
                items = (
                    seen.origin.items
                    if seen.origin.kind == "tuple" and seen.origin.items is not None
                    else (seen.origin,)
                )
                nodes = (
                    node.elts
                    if isinstance(node, ast.Tuple) and len(node.elts) == len(items)
                    else [node or seen.node] * len(items)
                )
                for index, (item, part) in enumerate(zip(items, nodes, strict=True)):
                    name = part.id if isinstance(part, ast.Name) else ""
                    found.append(Sent(seen, index, len(items), name, part, item))
        return found

    def unpacked(self) -> tuple[Seen, tuple[str, ...]] | None:
        """The names the received tensors get, where one statement unpacks them."""
        unpacks = self.receiving.unpacks if self.receiving is not None else []
        widths = {len(names) for _, names in unpacks}
        return unpacks[0] if len(widths) == 1 else None


class DispatchedFlow:
    """The forward of a class that is all stages, followed as one of those that receive: `branch` says which."""

    def __init__(self, project: Project, stage: Stage, branch: Branch) -> None:
        self.stage, self.branch = stage, branch
        held = {name: Origin("text", constant=True, value=text) for name, text in branch.texts.items()}
        self.receiving = Flow(project, stage.cls, True, held).run()


class Boundaries:
    """`project.knowledge(Boundaries)`: the flows of all stages, each computed on first use."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._flows: dict[int, StageFlow] = {}

    def __iter__(self) -> Iterator[StageFlow]:
        for stage in self.project.knowledge(Stages):
            yield self.of(stage)

    def dispatched(self) -> Iterator[DispatchedFlow]:
        """The flows of classes that are all stages, one for each kind of stage that receives tensors."""
        for stage in self.project.knowledge(Stages):
            if stage.family.dispatches:
                for branch in branches(self.project, stage.cls):
                    if branch.receives and branch.texts:
                        yield DispatchedFlow(self.project, stage, branch)

    def of(self, stage: Stage) -> StageFlow:
        """The flow of one stage."""
        if id(stage) not in self._flows:
            self._flows[id(stage)] = StageFlow(self.project, stage)
        return self._flows[id(stage)]

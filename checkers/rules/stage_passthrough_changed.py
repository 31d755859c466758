"""E7208"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent, StageFlow
from ..project.originals import Originals
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StagePassthroughChanged(Rule):
    """A middle stage drops, swaps or replaces a tensor that it should pass on."""

    code, symbol = "E7208", "stage-passthrough-changed"
    message = "%(problem)s"
    advice = "Return what was received, in the order in which it was received: `return x, %(names)s`."
    why = (
        "A skip connection or meta tensor is unpacked by position on the next stage. Dropped, swapped or "
        "overwritten, it reaches the layers that consume it as something else."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the skip connection of the last stage holds other features; or: not enough values to unpack"
    limits = (
        "Names tell which tensors are passed on. A tensor that a layer changes on the way cannot be decided, nor "
        "one changed by functions where no original model is found."
    )
    guide = "1.3: middle stages pass skip and meta unchanged"

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            x = self.layer(x)
            skip = x * 2
            return x, skip  # [stage-passthrough-changed]


    class Net_stage2(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """
    good = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            x = self.layer(x)
            return x, skip


    class Net_stage2(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        boundaries = analysis.project.knowledge(Boundaries)
        for flow in boundaries:
            following = flow.stage.following
            if flow.stage.is_first or following is None or flow.receiving is None:
                continue
            mine, theirs = flow.unpacked(), boundaries.of(following).unpacked()
            if mine is None or theirs is None or len(mine[1]) < 2:
                continue
            for sent in flow.sent():
                if sent.count > 1 and sent.index == 0:
                    yield from self._judge(flow, sent, mine[1], theirs[1])
                elif sent.count == 1 and sent.origin.kind in ("tensor", "result") and len(theirs[1]) > 1:
                    names = ", ".join(f"`{name}`" for name in theirs[1][1:])
                    yield self._wrong(
                        flow,
                        sent,
                        tr(
                            "`%(cls)s` drops %(names)s, which `%(other)s` unpacks",
                            cls=flow.stage.cls.name,
                            names=names,
                            other=following.cls.name,
                        ),
                    )

    def _judge(
        self, flow: StageFlow, first: Sent, mine: tuple[str, ...], theirs: tuple[str, ...]
    ) -> Iterator[Finding]:
        """Compare one returned tuple with what was received and what the next stage unpacks."""
        items = first.seen.origin.items or ()
        cls = flow.stage.cls.name
        if len(items) < len(theirs):
            lost = ", ".join(f"`{name}`" for name in theirs[len(items) :])
            yield self._wrong(
                flow, first, tr("`%(cls)s` drops %(lost)s, which the next stage unpacks", cls=cls, lost=lost)
            )
            return
        sent = [one for one in flow.sent() if one.seen is first.seen]
        names = tuple(one.name for one in sent)
        if mine == theirs != names and sorted(mine) == sorted(names) and len(set(names)) == len(names):
            yield self._wrong(
                flow,
                first,
                tr(
                    "`%(cls)s` returns %(mine)s where the next stage unpacks %(theirs)s",
                    cls=cls,
                    mine=_listed(names),
                    theirs=_listed(theirs),
                ),
            )
            return
        for index, name in enumerate(mine[: len(items)]):
            if not index or not name:
                continue
            item = items[index]
            expected = theirs[index] if index < len(theirs) else ""
            moved = item.passes is not None and item.passes != index and name != mine[item.passes]
            if moved and expected == name:
                text = tr(
                    "`%(cls)s` returns `%(mine)s` where the next stage unpacks `%(name)s`",
                    cls=cls,
                    mine=mine[item.passes or 0],
                    name=name,
                )
                yield self._wrong(flow, first, text)
                return
            if sent[index].name == name == expected and item.passes is None:
                replaced = item.is_tensor and index not in item.carries
                text = tr(
                    "`%(cls)s` returns something else as `%(name)s` than the `%(name)s` it received",
                    cls=cls,
                    name=name,
                )
                if replaced:
                    yield self._wrong(flow, first, text)
                elif item.is_tensor:
                    text = tr("`%(cls)s` changes `%(name)s` on the way to the next stage", cls=cls, name=name)
                    yield self._wrong(flow, first, text, decided=_only_here(flow, name))
                return

    def _wrong(self, flow: StageFlow, sent: Sent, problem: str, decided: bool = True) -> Finding:
        unpacked = flow.unpacked()
        names = ", ".join(unpacked[1][1:]) if unpacked is not None else "skip"
        return self.finding(
            place_of(sent.seen.module, sent.seen.node),
            object=flow.stage.cls.name,
            decided=decided,
            problem=problem,
            names=names,
        )


def _only_here(flow: StageFlow, name: str) -> bool:
    """Whether the forward itself changes a tensor, by functions and operators, as the original model does nowhere."""
    original = flow.project.knowledge(Originals).of(flow.stage.family)
    forward = flow.project.method(flow.stage.cls, "forward")
    if original is None or forward is None:
        return False
    changes = [
        node.value
        for node in walk(forward[1])
        if isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == [name]
        and any(isinstance(part, ast.Name) and part.id == name for part in walk(node.value))
    ]
    if len(changes) != 1 or "self." in ast.unparse(changes[0]):
        return False
    return _operations(changes[0]) not in [
        _operations(node) for node in walk(original.node) if isinstance(node, ast.Call | ast.BinOp)
    ]


def _operations(value: ast.AST) -> list[str]:
    """The functions and operators of an expression, what they are given left out."""
    operators = [type(node.op).__name__ for node in walk(value) if isinstance(node, ast.BinOp)]
    calls = [ast.unparse(node.func).rsplit(".", 1)[-1] for node in walk(value) if isinstance(node, ast.Call)]
    return sorted(operators + calls)


def _listed(names: tuple[str, ...]) -> str:
    return f"`({', '.join(names)})`"

"""E7252"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_BOUNDARY = re.compile(r"IntermediateTensors|PPProxyTensors")
_MADE = ("IntermediateTensors", "PPProxyTensors")
_FACTORY = "make_empty_intermediate_tensors_factory"
_HELD = ("intermediate_tensors", "pp_proxy_tensors")
_NAMED = re.compile("|".join((*_MADE, _FACTORY, *_HELD)))
_ASKS = re.compile(
    r"\bin (intermediate_tensors|pp_proxy_tensors)|(intermediate_tensors|pp_proxy_tensors)(\.tensors)?\.get\("
)


@dataclass
class _Keys:
    """What a class says of one boundary: where each key is read, sent, and made room for."""

    read: dict[str, ast.expr] = field(default_factory=dict)
    sent: dict[str, ast.expr] = field(default_factory=dict)
    room: dict[str, ast.expr] = field(default_factory=dict)
    is_open: bool = False


class BoundaryKeysDiffer(Rule):
    """A stage of an inference engine sends other tensors than the next one reads, or than there is room for."""

    code, symbol = "E7252", "boundary-keys-differ"
    message = "`%(key)s` %(how)s"
    advice = (
        "Let the names that a stage returns, those it reads, and those in `make_empty_intermediate_tensors_factory` "
        "be the same."
    )
    why = (
        "The engine copies what a stage received into buffers made for the names of the factory, and the model reads "
        "them by name. A tensor that is not named on both sides is a KeyError, or does not reach the next stage."
    )
    symptom = Symptom.CRASH
    runtime = "KeyError on every stage but the first with pipeline parallelism; with one stage all is well."
    limits = (
        "For vLLM's `IntermediateTensors` and SGLang's `PPProxyTensors` with names written out, read and returned in "
        "one class. Silent where names are asked for, added later or passed on."
    )
    guide = "beyond the guide"

    bad = """
    from torch import nn
    from vllm.distributed import get_pp_group
    from vllm.model_executor.models.utils import make_empty_intermediate_tensors_factory
    from vllm.sequence import IntermediateTensors


    class Model(nn.Module):
        def __init__(self, config, layers):
            super().__init__()
            self.layers = layers
            self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(
                ["hidden_states"], config.hidden_size
            )

        def forward(self, x, intermediate_tensors=None):
            residual = None
            if not get_pp_group().is_first_rank:
                x = intermediate_tensors["hidden_states"]
                residual = intermediate_tensors["residual"]  # [boundary-keys-differ]
            for layer in self.layers:
                x, residual = layer(x, residual)
            if not get_pp_group().is_last_rank:
                return IntermediateTensors({"hidden_states": x, "residual": residual})
            return x + residual
    """
    good = """
    from torch import nn
    from vllm.distributed import get_pp_group
    from vllm.model_executor.models.utils import make_empty_intermediate_tensors_factory
    from vllm.sequence import IntermediateTensors


    class Model(nn.Module):
        def __init__(self, config, layers):
            super().__init__()
            self.layers = layers
            self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(
                ["hidden_states", "residual"], config.hidden_size
            )

        def forward(self, x, intermediate_tensors=None):
            residual = None
            if not get_pp_group().is_first_rank:
                x = intermediate_tensors["hidden_states"]
                residual = intermediate_tensors["residual"]
            for layer in self.layers:
                x, residual = layer(x, residual)
            if not get_pp_group().is_last_rank:
                return IntermediateTensors({"hidden_states": x, "residual": residual})
            return x + residual
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            for cls in module.classes.values() if module.says(_BOUNDARY) else ():
                keys = _keys(cls) if _NAMED.search(cls.text) else _Keys()
                if keys.sent and not keys.is_open and not _ASKS.search(cls.text):
                    yield from self._compare(cls, keys)

    def _compare(self, cls: ClassFacts, keys: _Keys) -> Iterator[Finding]:
        if keys.room and keys.sent:
            for key, node in keys.read.items():
                if key not in keys.room:
                    yield self._found(cls, node, key, tr("is read, and the factory makes no room for it"))
        if keys.sent:
            for key, node in keys.read.items():
                if key not in keys.sent and key in (keys.room or {key: node}):
                    yield self._found(cls, node, key, tr("is read, and no stage sends it"))
            for name, node in _carried(cls):
                yield self._found(
                    cls, node, name, tr("goes from layer to layer, and is not sent to the next stage")
                )

    def _found(self, cls: ClassFacts, node: ast.expr, key: str, how: str) -> Finding:
        return self.finding(place_of(cls.module, node), object=cls.name, key=key, how=how)


def _keys(cls: ClassFacts) -> _Keys:
    keys = _Keys()
    for method in cls.methods.values():
        for node in walk(method):
            if isinstance(node, ast.Call) and last_name(node.func) in _MADE:
                _sent(node, keys)
            elif isinstance(node, ast.Call) and last_name(node.func) == _FACTORY:
                _room(node, keys)
            elif isinstance(node, ast.Subscript) and _is_boundary(node.value):
                key = node.slice.value if isinstance(node.slice, ast.Constant) else None
                if not isinstance(key, str) or not isinstance(node.ctx, ast.Load):
                    keys.is_open = True
                else:
                    keys.read.setdefault(key, node)
    return keys


def _is_boundary(node: ast.expr) -> bool:
    name = last_name(node.value if isinstance(node, ast.Attribute) and node.attr == "tensors" else node)
    return name in _HELD


def _sent(node: ast.Call, keys: _Keys) -> None:
    given = node.args[0] if len(node.args) == 1 else None
    named = given.keys if isinstance(given, ast.Dict) else []
    if not named or not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in named):
        keys.is_open = True
        return
    for key in named:
        assert isinstance(key, ast.Constant) and isinstance(key.value, str)
        keys.sent.setdefault(key.value, key)


def _room(node: ast.Call, keys: _Keys) -> None:
    given = node.args[0] if node.args else None
    named = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    if not named or not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in named):
        keys.is_open = True
        return
    for key in named:
        assert isinstance(key, ast.Constant) and isinstance(key.value, str)
        keys.room.setdefault(key.value, key)


def _carried(cls: ClassFacts) -> Iterator[tuple[str, ast.expr]]:
    """What a loop over the layers hands on beside the hidden state, and the last stage uses, but no stage sends."""
    forward = cls.methods.get("forward")
    for loop in forward.body if forward is not None else []:
        if not isinstance(loop, ast.For):
            continue
        pairs = [
            part
            for part in loop.body
            if isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Tuple)
            and isinstance(part.value, ast.Call)
        ]
        if (
            len(pairs) != 1
            or not isinstance(pairs[0].value, ast.Call)
            or not isinstance(pairs[0].targets[0], ast.Tuple)
        ):
            continue
        given = {part.id for part in walk(pairs[0].value) if isinstance(part, ast.Name)}
        handed = {part.id for part in pairs[0].targets[0].elts if isinstance(part, ast.Name)} & given
        below = [part for part in forward.body if part.lineno > loop.lineno] if forward is not None else []
        sent = next((call for part in below for call in walk(part) if _sends(call)), None)
        if not isinstance(sent, ast.Call):
            continue
        inside = {part.id for part in walk(sent) if isinstance(part, ast.Name)}
        after = [part for part in below if not any(node is sent for node in walk(part))]
        last = {
            part.id
            for statement in after
            for part in walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        if handed & inside:
            yield from ((name, sent) for name in sorted((handed - inside) & last))


def _sends(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _MADE

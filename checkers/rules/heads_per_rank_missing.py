"""E7109"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.inputs import layer_row
from ..tpstate.layers import flag
from ..tpstate.provider_table import COLUMN
from ..tpstate.values import PER_RANK, Obj, Sym
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..facts.module import ClassFacts
    from ..tpstate.analysis import Analysis

_SHARES = re.compile(
    r"tensor_model_parallel|tp_size|world_size|per_rank|per_partition|divide\(|local_heads|//\s*\w*tp\b"
)
_OTHER = re.compile(r"^get_(\w*_)?rank$|^get_(pipeline|data|pp|dp)\w*_(world_)?size$")
"""Getters that give no size of the TP group."""
_PROJECTIONS = ("q_proj", "qkv", "to_q", "to_qkv", "wq", "query", "qkv_proj", "query_key_value", "linear_qkv")


class HeadsPerRankMissing(Rule):
    """A distributed attention never derives the heads of one rank although its projections are split."""

    code, symbol = "E7109", "heads-per-rank-missing"
    message = "`%(projection)s` is split across the TP ranks, but the class never computes heads per rank"
    advice = (
        "Add `self.num_heads_per_rank = num_heads // config.tensor_model_parallel_size`, and reshape with it."
    )
    why = "With num_heads of the whole model the reshape of a split projection does not fit at tp >= 2."
    symptom = Symptom.CRASH
    runtime = "shape '[...]' is invalid for input of size ..., at tp >= 2 only"
    limits = "Looks at classes named *Distributed*Attention* whose source names no TP size at all."
    guide = "Principle 10: num_heads_per_rank must exist"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class MyDistributedAttention(nn.Module):  # [heads-per-rank-missing]
        def __init__(self, dim, num_heads, config):
            super().__init__()
            self.num_heads = num_heads
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            q, _ = self.q_proj(x)
            return q.unflatten(-1, (self.num_heads, -1))
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class MyDistributedAttention(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.num_heads_per_rank = num_heads // config.tensor_model_parallel_size
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            q, _ = self.q_proj(x)
            return q.unflatten(-1, (self.num_heads_per_rank, -1))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for cls, obj in analysis.built():
            rows = [layer_row(value) for value in obj.attrs.values() if isinstance(value, Obj)]
            if any(row is not None and row.kind == COLUMN for row in rows):
                yield from self._divisors(cls)
        for cls, obj in analysis.built():
            if not ("Distributed" in cls.name and "Attention" in cls.name) or _names_a_share(cls):
                continue
            if any(isinstance(value, Sym) and PER_RANK in value.tags for value in obj.attrs.values()):
                continue
            for name in _PROJECTIONS:
                layer = obj.attrs.get(name)
                row = layer_row(layer) if isinstance(layer, Obj) else None
                if row is None or row.kind != COLUMN or not isinstance(layer, Obj):
                    continue
                if flag(analysis.interpreter, layer, "gather_output", row.gather) is False:
                    yield self.finding(
                        place_of(cls.module, cls.node),
                        object=cls.name,
                        evidence=(
                            at(
                                layer.made_at,
                                tr("`%(name)s` is column-parallel and does not gather", name=name),
                            ),
                        ),
                        projection=name,
                    )
                    break

    def _divisors(self, cls: ClassFacts) -> Iterator[Finding]:
        """Heads divided by what is no size of the TP group: a rank, or the size of another group."""
        asked: dict[str, str] = {}
        for method in cls.methods.values():
            for node in walk(method):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    asked.update({ast.unparse(target): _getter(node.value) for target in node.targets})
        for method in cls.methods.values():
            for node in walk(method):
                parts = _divided(node)
                if parts is None:
                    continue
                left, right = parts
                name = _getter(right) if isinstance(right, ast.Call) else asked.get(ast.unparse(right), "")
                if "head" in ast.unparse(left) and _OTHER.search(name):
                    yield self.finding(
                        place_of(cls.module, node),
                        object=cls.name,
                        message="`%(left)s` is divided by what `%(name)s()` returns, which is not the TP size",
                        advice="Divide by `get_tensor_model_parallel_world_size()`.",
                        left=ast.unparse(left),
                        name=name,
                    )


def _divided(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of `heads // size` and `divide(heads, size)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) == 2 and _getter(node) == "divide":
        return node.args[0], node.args[1]
    return None


def _getter(call: ast.Call) -> str:
    return ast.unparse(call.func).rsplit(".", 1)[-1]


def _names_a_share(cls: ClassFacts) -> bool:
    text = cls.text
    return bool(_SHARES.search(text))

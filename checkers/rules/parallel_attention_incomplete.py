"""W7106"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.inputs import layer_row
from ..tpstate.layers import flag
from ..tpstate.provider_table import COLUMN, ROW
from ..tpstate.values import Obj, Value
from ..tpstate.verdicts import at, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_TRIPLES = (
    ("q_proj", "k_proj", "v_proj"),
    ("to_q", "to_k", "to_v"),
    ("wq", "wk", "wv"),
    ("query", "key", "value"),
    ("q", "k", "v"),
    ("linear_q", "linear_k", "linear_v"),
)
_OUTPUTS = ("proj", "out_proj", "o_proj", "to_out", "wo", "linear_proj")
_FEW_KEYS = re.compile(
    r"kv_head|key_value_head|num_kv|n_kv|multi_query|query_group|head_kv|mqa|gqa", re.IGNORECASE
)
_SPLITS_AGAIN = re.compile(r"scatter_to|split_tensor|get_\w*rank\(|\.narrow\(|tp_rank")
_LINEAR = "torch.nn.Linear"


class ParallelAttentionIncomplete(Rule):
    """A distributed attention is parallel only in part."""

    code, symbol = "W7106", "parallel-attention-incomplete"
    message = (
        "`%(plain)s` is %(kind)s while `%(parallel)s` is tensor-parallel: the attention is split only in part"
    )
    advice = "Make q, k and v ColumnParallelLinear and the output RowParallelLinear(input_is_parallel=True)."
    why = (
        "nn.MultiheadAttention and nn.Linear keep their whole weight and compute every head on every rank: memory and "
        "time are those of tp=1, and a mix of split and whole projections does not fit together."
    )
    symptom = Symptom.COST
    runtime = "no speed-up and no memory saved; shape error where split and whole projections meet"
    limits = (
        "Looks at attributes with the usual names; a layer chosen by a flag is not judged, nor keys and values "
        "that several heads share."
    )
    guide = "Principle 10: complete tensor parallelism inside attention"

    bad = """
    from megatron.core.tensor_parallel import RowParallelLinear
    from torch import nn


    class MyDistributedAttention(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            self.attn = nn.MultiheadAttention(dim, num_heads)  # [parallel-attention-incomplete]
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True,
                input_is_parallel=False, skip_bias_add=False,
            )

        def forward(self, x):
            out, _ = self.attn(x, x, x)
            return self.proj(out)[0]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from torch import nn


    class MyDistributedAttention(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.num_heads_per_rank = num_heads // config.tensor_model_parallel_size
            init = config.init_method
            self.q_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.k_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.v_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.proj = RowParallelLinear(
                dim, dim, config=config, init_method=init, bias=True,
                input_is_parallel=True, skip_bias_add=False,
            )

        def forward(self, x):
            q, k, v = self.q_proj(x)[0], self.k_proj(x)[0], self.v_proj(x)[0]
            return self.proj(nn.functional.scaled_dot_product_attention(q, k, v))[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for cls, obj in analysis.built():
            parallel = [name for name, value in obj.attrs.items() if _kind(value) in (COLUMN, ROW)]
            if not parallel and "Distributed" not in cls.name:
                continue
            for name, value in obj.attrs.items():
                if isinstance(value, Obj) and value.cls.dotted.endswith("nn.MultiheadAttention"):
                    if parallel:
                        yield self._finding(cls.name, name, value, "nn.MultiheadAttention", obj, parallel[0])
            for triple in _TRIPLES:
                kinds = {name: _kind(obj.attrs.get(name)) for name in triple}
                plain = [name for name, kind in kinds.items() if kind == _LINEAR]
                split = [name for name, kind in kinds.items() if kind == COLUMN]
                if plain and split and not _shares_keys(cls, triple, plain):
                    value = obj.attrs[plain[0]]
                    assert isinstance(value, Obj)
                    yield self._finding(cls.name, plain[0], value, "nn.Linear", obj, split[0])
                out = next((name for name in _OUTPUTS if _kind(obj.attrs.get(name)) == COLUMN), None)
                if len(split) == len(triple) and out is not None:
                    last = obj.attrs[out]
                    assert isinstance(last, Obj)
                    if not any(_gathers(analysis, obj.attrs[name]) for name in triple):
                        yield self.finding(
                            site_place(last.made_at),
                            object=cls.name,
                            message="`%(out)s` is column-parallel behind `%(names)s`, which leave their outputs split",
                            advice="Make it RowParallelLinear(input_is_parallel=True), which joins the heads.",
                            out=out,
                            names=", ".join(triple),
                        )
                odd = _odd_one(analysis, cls, obj, triple) if len(split) == len(triple) else None
                if odd is not None:
                    layer = obj.attrs[odd]
                    assert isinstance(layer, Obj)
                    yield self.finding(
                        site_place(layer.made_at),
                        object=cls.name,
                        message="`%(odd)s` and the other two of `%(names)s` are not alike: one part holds all heads, "
                        "the other those of one rank",
                        advice="Write `gather_output=False` for all three.",
                        odd=odd,
                        names=", ".join(triple),
                    )
                if len(split) == len(triple) and all(_gathers(analysis, obj.attrs[name]) for name in triple):
                    first = obj.attrs[triple[0]]
                    assert isinstance(first, Obj)
                    yield self.finding(
                        site_place(first.made_at),
                        object=cls.name,
                        message="`%(names)s` gather their outputs: every rank computes the attention of all heads",
                        advice="Write `gather_output=False`, and reshape with the heads of one rank.",
                        names=", ".join(triple),
                    )

    def _finding(self, owner: str, plain: str, value: Obj, kind: str, holder: Obj, parallel: str) -> Finding:
        other = holder.attrs[parallel]
        assert isinstance(other, Obj)
        return self.finding(
            site_place(value.made_at),
            object=owner,
            evidence=(at(other.made_at, tr("`%(parallel)s` is tensor-parallel", parallel=parallel)),),
            plain=plain,
            kind=kind,
            parallel=parallel,
        )


def _odd_one(analysis: Analysis, cls: ClassFacts, obj: Obj, triple: tuple[str, ...]) -> str | None:
    """The projection that gathers its heads, or leaves them split, where the others do not."""
    gathers = [_gathers(analysis, obj.attrs[name]) for name in triple]
    known = [_leaves_split(analysis, obj.attrs[name]) for name in triple]
    if (
        len(set(gathers)) < 2
        or any(a == b for a, b in zip(gathers, known, strict=True))
        or _SPLITS_AGAIN.search(cls.text)
    ):
        return None
    if gathers == [False, True, True] and _FEW_KEYS.search(cls.text):
        return None  # all keys are there for few heads
    return triple[gathers.index(sum(gathers) == 1)]


def _shares_keys(cls: ClassFacts, triple: tuple[str, ...], plain: list[str]) -> bool:
    """Whether the heads of the query share few keys and values, which every rank may well compute."""
    return triple[0] not in plain and _FEW_KEYS.search(cls.text) is not None


def _gathers(analysis: Analysis, layer: Value) -> bool:
    row = layer_row(layer) if isinstance(layer, Obj) else None
    if row is None or not isinstance(layer, Obj):
        return False
    return flag(analysis.interpreter, layer, "gather_output", row.gather) is True


def _leaves_split(analysis: Analysis, layer: Value) -> bool:
    row = layer_row(layer) if isinstance(layer, Obj) else None
    if row is None or not isinstance(layer, Obj):
        return False
    return flag(analysis.interpreter, layer, "gather_output", row.gather) is False


def _kind(value: Value | None) -> str:
    if not isinstance(value, Obj):
        return ""
    row = layer_row(value)
    return row.kind if row is not None else value.cls.dotted

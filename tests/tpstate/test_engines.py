"""Kinds met in inference engines: what each leaves at the row-parallel layer is decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate.states import State
from onescience_check.checkers.tpstate.tensors import last_size
from onescience_check.checkers.tpstate.values import PER_RANK, Sym, Tensor

HEAD = """
import torch
from torch import nn
from engine.ops import backend, get_group, get_rope, turn
from vllm.model_executor.layers.linear import ColumnParallelLinear, QKVParallelLinear, RowParallelLinear
"""

ATTENTION = """
class Attention(nn.Module):
    def __init__(self, dim, heads, size, fused):
        super().__init__()
        self.qkv_proj = QKVParallelLinear(dim, size, heads)
        self.o_proj = RowParallelLinear(heads * size, dim)
        self.rotary_emb = get_rope(size)
        self.attn = backend(heads, size)
        self.fused = fused
"""

KINDS = {
    "a group from a getter": (
        """
class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        group = get_group(config)
        self.up = ColumnParallelLinear(dim, 4 * dim, parallel_group=group)
        self.down = RowParallelLinear(4 * dim, dim, parallel_group=group)

    def forward(self, x):
        x, _ = self.up(x)
        return self.down(torch.relu(x))[0]
""",
        1,
    ),
    "groups of two getters": (
        """
class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, parallel_group=get_group(config))
        self.down = RowParallelLinear(4 * dim, dim, parallel_group=get_group(config.text))

    def forward(self, x):
        x, _ = self.up(x)
        return self.down(torch.relu(x))[0]
""",
        0,
    ),
    "an attention known by what it is given": (
        ATTENTION
        + """
    def forward(self, positions, x, batch):
        qkv, _ = self.qkv_proj(x)
        q, k, v = qkv.chunk(3, dim=-1)
        return self.o_proj(batch.kernel.compute(q=q, k=k, v=v, batch=batch))[0]
""",
        1,
    ),
    "an attention of the joined tensor": (
        ATTENTION
        + """
    def forward(self, positions, x, batch):
        qkv, _ = self.qkv_proj(x)
        return self.o_proj(self.attn(batch, mixed_qkv=qkv, scale=1.0))[0]
""",
        1,
    ),
    "a rotary embedding that may be another one": (
        """
CACHE = {}


class Rotary(nn.Module):
    def forward(self, positions, q, k):
        return turn(q, positions), turn(k, positions)


def rope(key, size):
    cached = CACHE.get(key)
    if cached is not None:
        return cached
    CACHE[key] = Rotary()
    return CACHE[key]

"""
        + ATTENTION.replace("get_rope(size)", "rope(fused, size)")
        + """
    def forward(self, positions, x, batch):
        qkv, _ = self.qkv_proj(x)
        q, k, v = qkv.chunk(3, dim=-1)
        q, k = self.rotary_emb(positions, q, k)
        return self.o_proj(self.attn(q, k, v, batch))[0]
""",
        1,
    ),
}


@pytest.mark.parametrize(("text", "decided"), KINDS.values(), ids=KINDS)
def test_the_input_of_the_row_parallel_layer(text: str, decided: int, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + text)
    found = run([tmp_path], Settings(base=tmp_path))
    assert not found.findings and not found.skipped
    assert (found.summary.inputs_decided, found.summary.inputs_undecided) == (decided, 1 - decided)


class Fresh:
    """The part of the interpreter that names unknown sizes."""

    def fresh(self, name: str, *tags: str) -> Sym:
        return Sym.named(name, *tags)


@pytest.mark.parametrize("last", [True, False])
def test_the_last_size_is_per_rank_only_where_the_last_dimension_is_split(last: bool) -> None:
    size = last_size(Fresh(), Tensor(State.SHARDED, last))  # type: ignore[arg-type]
    assert isinstance(size, Sym)
    assert (PER_RANK in size.tags) is last

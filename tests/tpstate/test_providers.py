"""Whose class it is decides what a layer returns, and its defaults; its bare name never does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Check = Callable[..., None]
States = Callable[..., set[str]]

TWO = """
from torch import nn
{imports}


class Mlp(nn.Module):
    def __init__(self, dim, config, **kwargs):
        super().__init__()
        self.fc = {column}
        self.probe = {row}

    def forward(self, x):
        y = self.fc(x)
        {take}
        return self.probe(nn.functional.gelu(y))
"""
CORE = "config=config, init_method=config.init_method"
CORE_ROW = "bias=True, input_is_parallel=True, skip_bias_add=False"


def two(imports: str, column: str, row: str, take: str = "y, _ = y") -> str:
    return TWO.format(imports=imports, column=column, row=row, take=take)


OUTPUT = {
    "megatron core": (
        two(
            "from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear",
            f"ColumnParallelLinear(dim, dim, {CORE})",
            f"RowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        ),
        "sharded",
    ),
    "megatron core, gathered when it is called": (
        two(
            "from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear",
            f"ColumnParallelLinear(dim, dim, {CORE})",
            f"RowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        ).replace("self.fc(x)", "self.fc(x, runtime_gather_output=True)"),
        "unknown",
    ),
    "onescience's copy": (
        two(
            "from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear\n"
            "from onescience.distributed.megatron.core.tensor_parallel.layers import RowParallelLinear",
            f"ColumnParallelLinear(dim, dim, {CORE})",
            f"RowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        ),
        "sharded",
    ),
    "megatron 2 gathers by default": (
        two(
            "from megatron.mpu import ColumnParallelLinear, RowParallelLinear",
            "ColumnParallelLinear(dim, dim)",
            "RowParallelLinear(dim, dim, input_is_parallel=False)",
        ),
        "full",
    ),
    "megatron 2 through its package": (
        two(
            "from megatron import mpu",
            "mpu.ColumnParallelLinear(dim, dim, gather_output=False)",
            "mpu.RowParallelLinear(dim, dim, input_is_parallel=True)",
        ),
        "sharded",
    ),
    "fairscale returns the tensor, gathered": (
        two(
            "from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear",
            "ColumnParallelLinear(dim, dim)",
            "RowParallelLinear(dim, dim)",
            "y = y + 0",
        ),
        "full",
    ),
    "fairscale under its package name": (
        two(
            "import fairscale.nn.model_parallel.layers as fs",
            "fs.ColumnParallelLinear(dim, dim, gather_output=False)",
            "fs.RowParallelLinear(dim, dim, input_is_parallel=True)",
            "y = y + 0",
        ),
        "sharded",
    ),
    "vllm": (
        two(
            "from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear",
            "ColumnParallelLinear(dim, dim)",
            "RowParallelLinear(dim, dim)",
        ),
        "sharded",
    ),
    "vllm without bias returns the tensor": (
        two(
            "from vllm.model_executor.layers.linear import MergedColumnParallelLinear, RowParallelLinear",
            "MergedColumnParallelLinear(dim, [dim, dim], return_bias=False)",
            "RowParallelLinear(dim, dim)",
            "y = y + 0",
        ),
        "sharded",
    ),
    "vllm with tp switched off": (
        two(
            "from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear",
            "ColumnParallelLinear(dim, dim, disable_tp=kwargs['off'])",
            "RowParallelLinear(dim, dim)",
        ),
        "unknown",
    ),
    "vllm replicated": (
        two(
            "from vllm.model_executor.layers.linear import ReplicatedLinear, RowParallelLinear",
            "ReplicatedLinear(dim, dim)",
            "RowParallelLinear(dim, dim, input_is_parallel=False)",
        ),
        "full",
    ),
    "sglang": (
        two(
            "from sglang.srt.layers.linear import QKVParallelLinear, RowParallelLinear",
            "QKVParallelLinear(dim, 64, 16)",
            "RowParallelLinear(dim, dim)",
        ),
        "sharded",
    ),
    "transformer engine in megatron": (
        two(
            "from megatron.core.extensions.transformer_engine import TEColumnParallelLinear, TERowParallelLinear",
            f"TEColumnParallelLinear(dim, dim, {CORE}, gather_output=False)",
            f"TERowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        ),
        "sharded",
    ),
    "layer norm fused into the column layer": (
        two(
            "from megatron.core.extensions.transformer_engine import TELayerNormColumnParallelLinear\n"
            "from megatron.core.extensions.transformer_engine import TERowParallelLinear",
            f"TELayerNormColumnParallelLinear(dim, dim, {CORE}, gather_output=False)",
            f"TERowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        ),
        "sharded",
    ),
    "nanotron": (
        two(
            "from nanotron.parallel.tensor_parallel.nn import TensorParallelColumnLinear, TensorParallelRowLinear",
            "TensorParallelColumnLinear(dim, dim, pg=config.pg)",
            "TensorParallelRowLinear(dim, dim, pg=config.pg)",
            "y = y + 0",
        ),
        "sharded",
    ),
}


@pytest.mark.parametrize("kind", sorted(OUTPUT))
def test_what_a_provider_returns(kind: str, states: States, check: Check) -> None:
    source, state = OUTPUT[kind]
    assert states(source) == {state}
    check(source)


@pytest.mark.parametrize(
    ("imports", "flag"),
    [("from megatron import mpu", ""), ("from fairscale.nn.model_parallel import layers as mpu", "")],
)
def test_the_old_row_layer_takes_a_full_input_by_default(imports: str, flag: str, check: Check) -> None:
    take = "y = y + 0" if "fairscale" in imports else "y, _ = y"
    source = two(
        imports,
        "mpu.ColumnParallelLinear(dim, dim, gather_output=False)",
        "mpu.RowParallelLinear(dim, dim)",
        take,
    )
    check(source.replace("gelu(y))", "gelu(y))  # [input-is-parallel-mismatch]"))


def test_the_row_layer_of_vllm_takes_a_split_input_by_default(check: Check) -> None:
    source = two(
        "from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear",
        "ColumnParallelLinear(dim, dim, gather_output=True)",
        "RowParallelLinear(dim, dim)",
    )
    check(source.replace("gelu(y))", "gelu(y))  # [input-is-parallel-mismatch]"))


def test_rows_of_the_users_settings(check: Check) -> None:
    source = """
    from torch import nn
    from earthkit.parallel import SplitIn, SplitOut


    class Model(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.up = SplitOut(dim, dim)
            self.down = SplitIn(dim, dim)

        def forward(self, x):
            hidden, _ = self.up(x)
            return self.down(hidden) / 2  # [parallel-linear-tuple-used]

        def wrong(self, x):
            return self.down(self.up(x)[0])[0]
    """
    rows = (
        {"name": "earthkit.parallel.SplitOut", "kind": "column", "returns": "pair"},
        {"name": "earthkit.parallel.SplitIn", "kind": "row", "returns": "pair", "input_is_parallel": "true"},
    )
    check(source, providers=rows)


def test_a_row_of_the_settings_wins_over_the_table(check: Check) -> None:
    source = two(
        "from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear",
        f"ColumnParallelLinear(dim, dim, {CORE})",
        f"RowParallelLinear(dim, dim, {CORE}, {CORE_ROW})",
        "y = y * 2",
    )
    row = {
        "name": "megatron.core.tensor_parallel.ColumnParallelLinear",
        "kind": "column",
        "returns": "tensor",
    }
    check(source, providers=(row,))

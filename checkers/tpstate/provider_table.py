"""The table of parallel layers: who makes them, and what each returns. Read from the sources of 38 public trees."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import cache

from ..facts.module import ClassFacts
from ..facts.nodes import as_code

COLUMN, ROW, REPLICATED, EMBEDDING, PLAIN = "column", "row", "replicated", "embedding", "plain"
PAIR, TENSOR, UNDECIDED = "pair", "tensor", "undecided"

MEGATRON = "megatron"

INFERENCE = "inference"

PLATFORM_OPS = frozenset({"PluggableLayer", "TensorSchema"})
"""vLLM's bases that pick a class, or check shapes, when the job runs."""


@dataclass(frozen=True)
class Provider:
    """One contract.

    `returns`: pair, tensor or undecided. `gather` / `parallel`: default of `gather_output` / `input_is_parallel`,
    None where the class has no such parameter (its output is always split, its input always taken as split).
    `required`: arguments without a default. `positional`: parameters that may be given by position, in order.
    `fused`: the layer lays out several projections itself. `family`: who checks and loads weights.
    `renamed`: parameters whose name is not Megatron's. `by_mode`: the argument that says `….COLUMN` or `….ROW`.
    """

    name: str
    kind: str
    returns: str
    gather: bool | None = None
    parallel: bool | None = None
    positional: tuple[str, ...] = ("input_size", "output_size")
    required: tuple[str, ...] = ()
    keyword_only: bool = False
    fused: bool = False
    family: str = MEGATRON
    tensor_flag: str = ""
    source: ClassFacts | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    by_mode: str = ""

    def takes(self, flag: str) -> bool:
        """Whether the layer has the option `gather_output` or `input_is_parallel` at all."""
        default = self.gather if flag == "gather_output" else self.parallel
        return default is not None or flag in self.required


_EMBED = ("num_embeddings", "embedding_dim")
_FEATURES = ("in_features", "out_features")
_HEADS = ("hidden_size", "head_size", "total_num_heads")

_CORE_COLUMN = Provider(
    "Megatron-Core", COLUMN, PAIR, gather=False, required=("config", "init_method"), keyword_only=True
)

_CORE_ROW = Provider(
    "Megatron-Core",
    ROW,
    PAIR,
    parallel=None,
    required=("config", "init_method", "bias", "input_is_parallel", "skip_bias_add"),
    keyword_only=True,
)

_OLD_COLUMN = Provider("Megatron-LM 2", COLUMN, PAIR, gather=True)

_OLD_ROW = Provider("Megatron-LM 2", ROW, PAIR, parallel=False)

BEFORE_CONFIG = {
    COLUMN: replace(_OLD_COLUMN, name="Megatron-Core 0.2"),
    ROW: replace(_OLD_ROW, name="Megatron-Core 0.2"),
}
"""Before version 0.3 the layers of Megatron-Core took no config."""

SPEC = {
    COLUMN: Provider("Megatron spec", COLUMN, PAIR, gather=False),
    ROW: Provider("Megatron spec", ROW, PAIR, parallel=None),
}
"""Layers that a spec of Megatron-Core names; which class it is says nothing more of what they return."""

_TENSOR_COLUMN = Provider("fairscale", COLUMN, TENSOR, gather=True, positional=_FEATURES)

_TENSOR_ROW = Provider("fairscale", ROW, TENSOR, parallel=False, positional=_FEATURES)

_VLLM = ("input_size", "output_size", "bias")

_VLLM_COLUMN = Provider(
    "vLLM", COLUMN, PAIR, gather=False, positional=_VLLM, family=INFERENCE, tensor_flag="return_bias"
)

_VLLM_ROW = Provider(
    "vLLM", ROW, PAIR, parallel=True, positional=_VLLM, family=INFERENCE, tensor_flag="return_bias"
)

_TE = Provider("Transformer Engine in Megatron", COLUMN, PAIR, gather=False)

_CORE = r"(^|\.)megatron\.core(\.|$).*"

_TABLE: tuple[tuple[str, Provider], ...] = (
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.(Column|MergedColumn)ParallelLinear$", _VLLM_COLUMN),
    (
        r"(^|\.)vllm(_omni|_ascend)?\..*\.QKVParallelLinear$",
        replace(_VLLM_COLUMN, fused=True, positional=_HEADS),
    ),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.RowParallelLinear$", _VLLM_ROW),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.ReplicatedLinear$", replace(_VLLM_COLUMN, kind=REPLICATED)),
    (
        r"(^|\.)vllm(_omni|_ascend)?\..*\.VocabParallelEmbedding$",
        Provider("vLLM", EMBEDDING, TENSOR, family=INFERENCE, positional=_EMBED),
    ),
    (
        r"(^|\.)sglang\..*\.(Column|MergedColumn)ParallelLinear$",
        replace(_VLLM_COLUMN, name="SGLang", tensor_flag=""),
    ),
    (
        r"(^|\.)sglang\..*\.QKVParallelLinear$",
        replace(_VLLM_COLUMN, name="SGLang", tensor_flag="", fused=True, positional=_HEADS),
    ),
    (r"(^|\.)sglang\..*\.RowParallelLinear$", replace(_VLLM_ROW, name="SGLang", tensor_flag="")),
    (
        r"(^|\.)sglang\..*\.ReplicatedLinear$",
        replace(_VLLM_COLUMN, name="SGLang", tensor_flag="", kind=REPLICATED),
    ),
    (
        r"(^|\.)sglang\..*\.VocabParallelEmbedding$",
        Provider("SGLang", EMBEDDING, TENSOR, family=INFERENCE, positional=_EMBED),
    ),
    (_CORE + r"\.VocabParallelEmbedding$", Provider("Megatron-Core", EMBEDDING, TENSOR, positional=_EMBED)),
    (_CORE + r"\.TE(LayerNorm)?ColumnParallelLinear$", _TE),
    (_CORE + r"\.TERowParallelLinear$", replace(_TE, kind=ROW, gather=None, parallel=True)),
    (
        _CORE
        + r"\.InferenceLayerNormColumnParallelLinear$|"
        + _CORE
        + r"\.(Inference|Kitchen)ColumnParallelLinear$",
        _TE,
    ),
    (_CORE + r"\.(Inference|Kitchen)RowParallelLinear$", replace(_TE, kind=ROW, gather=None, parallel=True)),
    (_CORE + r"\.ColumnParallelLinear$", _CORE_COLUMN),
    (_CORE + r"\.RowParallelLinear$", _CORE_ROW),
    (r"(^|\.)mindspeed\..*\.LinearNoTP$", Provider("MindSpeed", PLAIN, TENSOR)),
    (
        r"(^|\.)(megatron|metaseq\.modules\.megatron|megatron\.legacy)\.mpu(\.\w+)*\.ColumnParallelLinear$",
        _OLD_COLUMN,
    ),
    (
        r"(^|\.)(megatron|metaseq\.modules\.megatron|megatron\.legacy)\.mpu(\.\w+)*\.RowParallelLinear$",
        _OLD_ROW,
    ),
    (r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.ColumnParallelLinear$", _TENSOR_COLUMN),
    (r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.RowParallelLinear$", _TENSOR_ROW),
    (
        r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.(VocabParallel|Parallel)Embedding$",
        Provider("fairscale", EMBEDDING, TENSOR, positional=_EMBED),
    ),
    (
        r"(^|\.)(sat\.mpu|flagai\.mpu)(\.\w+)*\.ColumnParallelLinear$",
        replace(_TENSOR_COLUMN, name="SwissArmyTransformer"),
    ),
    (
        r"(^|\.)(sat\.mpu|flagai\.mpu)(\.\w+)*\.RowParallelLinear$",
        replace(_TENSOR_ROW, name="SwissArmyTransformer"),
    ),
    (
        r"(^|\.)apex\.transformer\.tensor_parallel(\.\w+)*\.ColumnParallelLinear$",
        replace(_OLD_COLUMN, name="Apex"),
    ),
    (
        r"(^|\.)apex\.transformer\.tensor_parallel(\.\w+)*\.RowParallelLinear$",
        replace(_OLD_ROW, name="Apex"),
    ),
    (
        r"(^|\.)apex\.transformer\.tensor_parallel(\.\w+)*\.VocabParallelEmbedding$",
        Provider("Apex", EMBEDDING, TENSOR, positional=_EMBED),
    ),
    (
        r"(^|\.)neuronx_distributed\.parallel_layers(\.\w+)*\.ColumnParallelLinear$",
        replace(_TENSOR_COLUMN, name="NeuronX Distributed", positional=("input_size", "output_size")),
    ),
    (
        r"(^|\.)neuronx_distributed\.parallel_layers(\.\w+)*\.RowParallelLinear$",
        replace(_TENSOR_ROW, name="NeuronX Distributed", positional=("input_size", "output_size")),
    ),
    (
        r"(^|\.)neuronx_distributed\.parallel_layers(\.\w+)*\.ParallelEmbedding$",
        Provider("NeuronX Distributed", EMBEDDING, TENSOR, positional=_EMBED),
    ),
    (
        r"(^|\.)text_generation_server\..*\.TensorParallelColumnLinear$",
        replace(
            _TENSOR_COLUMN,
            name="text-generation-inference",
            gather=None,
            positional=("linear",),
            fused=True,  # what builds `linear` loads the rows of each rank as the model reads them
        ),
    ),
    (
        r"(^|\.)text_generation_server\..*\.TensorParallelRowLinear$",
        replace(
            _TENSOR_ROW,
            name="text-generation-inference",
            parallel=None,
            positional=("linear", "process_group"),
        ),
    ),
    (
        r"(^|\.)colossalai\..*\.Linear1D_Col$",
        replace(_TENSOR_COLUMN, name="Colossal-AI", gather=False),
    ),
    (
        r"(^|\.)colossalai\..*\.Linear1D_Row$",
        replace(
            _TENSOR_ROW, name="Colossal-AI", parallel=True, renamed=(("parallel_input", "input_is_parallel"),)
        ),
    ),
    (
        r"(^|\.)tensorrt_llm\.layers(\.\w+)*\.ColumnLinear$",
        replace(_TENSOR_COLUMN, name="TensorRT-LLM"),
    ),
    (
        r"(^|\.)tensorrt_llm\.layers(\.\w+)*\.RowLinear$",
        replace(_TENSOR_ROW, name="TensorRT-LLM", parallel=None),
    ),
    (
        r"(^|\.)tensorrt_llm\._torch\.modules\.linear\.Linear$",
        replace(
            _TENSOR_COLUMN,
            name="TensorRT-LLM",
            kind=REPLICATED,
            gather=False,
            renamed=(("reduce_output", "reduce_results"),),
            by_mode="tensor_parallel_mode",
            family=INFERENCE,
        ),
    ),
    (
        r"(^|\.)nanotron\..*\.TensorParallelColumnLinear$",
        replace(_TENSOR_COLUMN, name="nanotron", gather=None, positional=_FEATURES),
    ),
    (
        r"(^|\.)nanotron\..*\.TensorParallelRowLinear$",
        replace(_TENSOR_ROW, name="nanotron", parallel=None, positional=_FEATURES),
    ),
)


@cache
def compiled() -> tuple[tuple[re.Pattern[str], Provider], ...]:
    return tuple((re.compile(pattern), row) for pattern, row in _TABLE)


def by_mode(row: Provider, node: ast.expr) -> Provider:
    """The kind of a layer that is one class for all: `tensor_parallel_mode=TensorParallelMode.COLUMN`."""
    for keyword in node.keywords if isinstance(node, ast.Call) and row.by_mode else ():
        mode = as_code(keyword.value).rsplit(".", 1)[-1]
        if keyword.arg == row.by_mode and mode in ("COLUMN", "ROW"):
            is_column = mode == "COLUMN"
            kind = COLUMN if is_column else ROW
            return replace(row, kind=kind, gather=row.gather if is_column else None)
    return row

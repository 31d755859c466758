"""Who makes parallel layers, and what each returns: a data table, resolved by import origin, never by bare name.

Read from the sources of 38 public trees. A class of the tree that no row names and that splits its weight itself
is read: what its own `forward` returns and the defaults of its own `__init__` make its row.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import cache

from ..facts.module import ClassFacts
from ..project.project import External, Project

COLUMN, ROW, REPLICATED, EMBEDDING, PLAIN = "column", "row", "replicated", "embedding", "plain"
PAIR, TENSOR, UNDECIDED = "pair", "tensor", "undecided"

MEGATRON = "megatron"

INFERENCE = "inference"

PLATFORM_OPS = frozenset({"CustomOp", "MultiPlatformOp", "PluggableLayer", "TensorSchema"})
"""vLLM's and SGLang's bases that pick a kernel, or check shapes, when the job runs: `forward_native` is what they compute."""


@dataclass(frozen=True)
class Provider:
    """One contract.

    `returns`: pair, tensor or undecided. `gather` / `parallel`: default of `gather_output` / `input_is_parallel`,
    None where the class has no such parameter (its output is always split, its input always taken as split).
    `required`: arguments without a default. `positional`: parameters that may be given by position, in order.
    `fused`: the layer lays out several projections itself. `family`: who checks and loads weights.
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

    def takes(self, flag: str) -> bool:
        """Whether the layer has the option `gather_output` or `input_is_parallel` at all."""
        default = self.gather if flag == "gather_output" else self.parallel
        return default is not None or flag in self.required


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

_TENSOR_COLUMN = Provider(
    "fairscale", COLUMN, TENSOR, gather=True, positional=("in_features", "out_features")
)

_TENSOR_ROW = Provider("fairscale", ROW, TENSOR, parallel=False, positional=("in_features", "out_features"))

_VLLM = ("input_size", "output_size", "bias")

_VLLM_COLUMN = Provider(
    "vLLM", COLUMN, PAIR, gather=False, positional=_VLLM, family=INFERENCE, tensor_flag="return_bias"
)

_VLLM_ROW = Provider(
    "vLLM", ROW, PAIR, parallel=True, positional=_VLLM, family=INFERENCE, tensor_flag="return_bias"
)

_TE = Provider("Transformer Engine in Megatron", COLUMN, PAIR, gather=False)

_DEEPSPEED_ROW = replace(_CORE_ROW, name="Megatron-DeepSpeed", required=("config", "init_method"))

_CORE = r"(^|\.)megatron\.core(\.|$).*"

_TABLE: tuple[tuple[str, Provider], ...] = (
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.(Column|MergedColumn)ParallelLinear$", _VLLM_COLUMN),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.QKVParallelLinear$", replace(_VLLM_COLUMN, fused=True, positional=("hidden_size", "head_size", "total_num_heads"))),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.RowParallelLinear$", _VLLM_ROW),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.ReplicatedLinear$", replace(_VLLM_COLUMN, kind=REPLICATED)),
    (r"(^|\.)vllm(_omni|_ascend)?\..*\.VocabParallelEmbedding$", Provider("vLLM", EMBEDDING, TENSOR, family=INFERENCE, positional=("num_embeddings", "embedding_dim"))),
    (r"(^|\.)sglang\..*\.(Column|MergedColumn)ParallelLinear$", replace(_VLLM_COLUMN, name="SGLang", tensor_flag="")),
    (r"(^|\.)sglang\..*\.QKVParallelLinear$", replace(_VLLM_COLUMN, name="SGLang", tensor_flag="", fused=True, positional=("hidden_size", "head_size", "total_num_heads"))),
    (r"(^|\.)sglang\..*\.RowParallelLinear$", replace(_VLLM_ROW, name="SGLang", tensor_flag="")),
    (r"(^|\.)sglang\..*\.ReplicatedLinear$", replace(_VLLM_COLUMN, name="SGLang", tensor_flag="", kind=REPLICATED)),
    (r"(^|\.)sglang\..*\.VocabParallelEmbedding$", Provider("SGLang", EMBEDDING, TENSOR, family=INFERENCE, positional=("num_embeddings", "embedding_dim"))),
    (_CORE + r"\.VocabParallelEmbedding$", Provider("Megatron-Core", EMBEDDING, TENSOR, positional=("num_embeddings", "embedding_dim"))),
    (_CORE + r"\.TE(LayerNorm)?ColumnParallelLinear$", _TE),
    (_CORE + r"\.TERowParallelLinear$", replace(_TE, kind=ROW, gather=None, parallel=True)),
    (_CORE + r"\.InferenceLayerNormColumnParallelLinear$|" + _CORE + r"\.(Inference|Kitchen)ColumnParallelLinear$", _TE),
    (_CORE + r"\.(Inference|Kitchen)RowParallelLinear$", replace(_TE, kind=ROW, gather=None, parallel=True)),
    (_CORE + r"\.ColumnParallelLinear$", _CORE_COLUMN),
    (_CORE + r"\.RowParallelLinear$", _CORE_ROW),
    (r"(^|\.)mindspeed\..*\.LinearNoTP$", Provider("MindSpeed", PLAIN, TENSOR)),
    (r"(^|\.)(megatron|metaseq\.modules\.megatron|megatron\.legacy)\.mpu(\.\w+)*\.ColumnParallelLinear$", _OLD_COLUMN),
    (r"(^|\.)(megatron|metaseq\.modules\.megatron|megatron\.legacy)\.mpu(\.\w+)*\.RowParallelLinear$", _OLD_ROW),
    (r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.ColumnParallelLinear$", _TENSOR_COLUMN),
    (r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.RowParallelLinear$", _TENSOR_ROW),
    (r"(^|\.)fairscale\.nn\.model_parallel(\.\w+)*\.(VocabParallel|Parallel)Embedding$", Provider("fairscale", EMBEDDING, TENSOR, positional=("num_embeddings", "embedding_dim"))),
    (r"(^|\.)(sat\.mpu|flagai\.mpu)(\.\w+)*\.ColumnParallelLinear$", replace(_TENSOR_COLUMN, name="SwissArmyTransformer")),
    (r"(^|\.)(sat\.mpu|flagai\.mpu)(\.\w+)*\.RowParallelLinear$", replace(_TENSOR_ROW, name="SwissArmyTransformer")),
    (r"(^|\.)nanotron\..*\.TensorParallelColumnLinear$", replace(_TENSOR_COLUMN, name="nanotron", gather=None, positional=("in_features", "out_features"))),
    (r"(^|\.)nanotron\..*\.TensorParallelRowLinear$", replace(_TENSOR_ROW, name="nanotron", parallel=None, positional=("in_features", "out_features"))),
)  # fmt: skip


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Provider], ...]:
    return tuple((re.compile(pattern), row) for pattern, row in _TABLE)


_NAMES = re.compile(
    r"(Column|Row)Parallel(Linear|GELU)?|ParallelEmbedding|ReplicatedLinear|LinearNoTP|QKVParallel|Column|Row"
)

_OWN_NAME = re.compile(r"^\w*?(Column|Row)Parallel(Linear)?(Torch)?$")

_COLLECTIVE = re.compile(
    r"all_reduce|all_gather|reduce_scatter|_tensor_model_parallel_region|reduce_from|gather_from|_region\("
)


def provider_for(project: Project, cls: ClassFacts | External) -> Provider | None:
    """The contract of a class by its definition's dotted path; None when it makes no parallel layer."""
    cache_key = ("provider", cls if isinstance(cls, External) else id(cls))
    memo: dict[object, Provider | None] = project.__dict__.setdefault("_providers", {})
    if cache_key not in memo:
        memo[cache_key] = _find(project, cls)
    return memo[cache_key]


def _find(project: Project, cls: ClassFacts | External) -> Provider | None:
    dotted = cls.dotted
    for given in project.settings.providers:
        if dotted == given["name"] or dotted.endswith(f".{given['name']}"):
            return _configured(given, cls)
    if not _NAMES.search(dotted.rsplit(".", 1)[-1]):
        return None
    for pattern, row in _compiled():
        if pattern.search(dotted):
            return _checked(project, cls, row) if isinstance(cls, ClassFacts) else row
    if isinstance(cls, ClassFacts) and _OWN_NAME.match(cls.name):
        return _read_own(project, cls)
    return None


def _configured(given: dict[str, str], cls: ClassFacts | External) -> Provider:
    """A row of the user's settings."""
    flags = {"true": True, "false": False}
    return Provider(
        given["name"],
        given.get("kind", COLUMN),
        given.get("returns", PAIR),
        flags.get(given.get("gather_output", ""), None),
        flags.get(given.get("input_is_parallel", ""), None),
        source=cls if isinstance(cls, ClassFacts) else None,
    )


def _checked(project: Project, cls: ClassFacts, row: Provider) -> Provider | None:
    """A row for a class whose source is in the tree: its own signature and returns stand over the table."""
    own = _signature(cls, row)
    returned = _returns(cls)
    if returned is None:
        inherits = any(provider_for(project, entry) is not None for entry in project.mro(cls)[1:])
        return None if inherits and "__init__" not in cls.methods else replace(own, source=cls)
    keeps_row = bool(row.tensor_flag) or returned == UNDECIDED
    return replace(own, returns=row.returns if keeps_row else returned, source=cls)


def _read_own(project: Project, cls: ClassFacts) -> Provider | None:
    """A class named like a parallel layer that no row knows: read from its own source."""
    if any(provider_for(project, entry) is not None for entry in project.mro(cls)[1:]):
        return None
    text = "\n".join(cls.module.lines[cls.node.lineno - 1 : cls.node.end_lineno])
    returned = _returns(cls)
    if returned is None or not _COLLECTIVE.search(text):
        return None
    match = _OWN_NAME.match(cls.name)
    assert match is not None
    kind = COLUMN if match.group(1) == "Column" else ROW
    row = Provider(cls.dotted, kind, returned, source=cls)
    return _signature(cls, row)


def _signature(cls: ClassFacts, row: Provider) -> Provider:
    """Parameter names and defaults from the class's own constructor."""
    method = cls.methods.get("__init__")
    if method is None:
        return row
    spec = method.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:]
    defaults: dict[str, ast.expr | None] = dict(
        zip([arg.arg for arg in spec.kwonlyargs], spec.kw_defaults, strict=True)
    )
    for name, default in zip(reversed(positional), reversed(spec.defaults), strict=False):
        defaults[name] = default
    required = tuple(name for name in positional if name not in defaults)
    required += tuple(
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None
    )
    names = {*positional, *defaults}
    gather = _flag(defaults.get("gather_output"), row.gather) if "gather_output" in names else None
    parallel = _flag(defaults.get("input_is_parallel"), None) if "input_is_parallel" in names else None
    return replace(
        row,
        positional=tuple(positional),
        required=tuple(name for name in required if name not in positional[:2]),
        keyword_only=bool(spec.kwonlyargs),
        gather=gather if row.kind == COLUMN else None,
        parallel=parallel if row.kind == ROW else None,
    )


def _flag(default: ast.expr | None, otherwise: bool | None) -> bool | None:
    return (
        default.value if isinstance(default, ast.Constant) and isinstance(default.value, bool) else otherwise
    )


def accepts(row: Provider) -> set[str] | None:
    """Every parameter the layer's own constructor takes, None when its source is not in the tree or it is open."""
    method = row.source.methods.get("__init__") if row.source is not None else None
    if method is None or method.args.kwarg is not None:
        return None
    spec = method.args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)} - {"self"}


def _returns(cls: ClassFacts) -> str | None:
    """What the class's own forward returns; None when it has none."""
    method = cls.methods.get("forward")
    if method is None:
        return None
    kinds = set()
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            kinds.add(_kind_of(node.value, method))
        pending += list(ast.iter_child_nodes(node))
    return kinds.pop() if len(kinds) == 1 else UNDECIDED


def _kind_of(value: ast.expr, method: ast.FunctionDef) -> str:
    if isinstance(value, ast.Tuple):
        return PAIR if len(value.elts) == 2 else UNDECIDED
    if isinstance(value, ast.Name):
        return UNDECIDED if _comes_from_forward(value.id, method) else TENSOR
    if isinstance(value, ast.BinOp | ast.Attribute):
        return TENSOR
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return UNDECIDED if "forward" in name or "super()" in name else TENSOR
    return UNDECIDED


def _comes_from_forward(name: str, method: ast.FunctionDef) -> bool:
    """Whether a variable holds what another forward returned, which may be a pair."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            source = ast.unparse(node.value)
            if isinstance(node.value, ast.Tuple) or "forward(" in source or "super()" in source:
                return True
    return False

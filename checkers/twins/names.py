"""Names that mean the same on both sides, and what only parallelization needs."""

from __future__ import annotations

import ast
import re

REGION = re.compile(r"_(tensor_model_parallel|model_parallel|sequence_parallel|tensor_parallel)_region$")
"""Functions that move a value between whole and split: on one rank they do nothing."""

SAME = frozenset(
    """contiguous float to type type_as half bfloat16 double cuda cpu clone requires_grad_ make_viewless_tensor
    Parameter""".split()
)
"""Copies, casts and wrappers: the values stay."""

VIEWS = frozenset("reshape flatten unflatten squeeze unsqueeze".split())
"""Shapes that a stage or a rank may write otherwise."""

TRAITS = frozenset("shape dtype device ndim requires_grad is_cuda".split())
"""What two tensors can have in common without being the same."""

ALIASES = {
    "view": "reshape", "view_as": "reshape", "reshape_as": "reshape", "concat": "cat", "concatenate": "cat",
    "mul": "*", "multiply": "*", "add": "+", "sub": "-", "subtract": "-", "div": "/", "divide": "//",
    "matmul": "@", "bmm": "@", "swapaxes": "transpose", "swapdims": "transpose", "trunc_normal_tf_": "trunc_normal_",
    "absolute": "abs",
}  # fmt: skip

SIGNATURES: dict[str, tuple[str, ...]] = {
    "cat": ("", "dim"), "stack": ("", "dim"), "softmax": ("", "dim"), "roll": ("", "shifts", "dims"),
    "sum": ("", "dim", "keepdim"), "mean": ("", "dim", "keepdim"), "amax": ("", "dim", "keepdim"),
    "split": ("", "size", "dim"), "chunk": ("", "chunks", "dim"), "norm": ("", "p", "dim"),
}  # fmt: skip
KEYWORDS = {
    "axis": "dim",
    "tensors": "",
    "input": "",
    "tensor": "",
    "split_size_or_sections": "size",
    "split_size": "size",
}

INFRASTRUCTURE = frozenset(
    """config megatron_config transformer_config init_method output_layer_init_method gather_output input_is_parallel
    skip_bias_add is_expert tp_group pg_collection use_reentrant preserve_rng_state stride keep_master_weight_for_test
    skip_weight_param_allocation tp_comm_buffer_name""".split()
)
"""Arguments that only split code has."""

ONE = re.compile(
    r"(^|[_.])(tensor_model_parallel_size|tensor_model_parallel_world_size|tp_size|tp_world_size)$"
)
ZERO = re.compile(r"(^|[_.])(tensor_model_parallel_rank|tp_rank)$")
LINEAR = re.compile(r"(Column|Row)ParallelLinear$|^Linear$")
EMBEDDING = re.compile(r"ParallelEmbedding$|^Embedding$")
TORCH_DEFAULTS: dict[str, dict[str, bool | float | str]] = {
    "Linear": {"bias": True},
    "LayerNorm": {"eps": 1e-5, "elementwise_affine": True, "bias": True},
    "RMSNorm": {"elementwise_affine": True},
    "BatchNorm2d": {"eps": 1e-5, "momentum": 0.1, "affine": True},
    "GroupNorm": {"eps": 1e-5, "affine": True},
    "GELU": {"approximate": "none"},
    **{name: {"bias": True, "padding_mode": "zeros"} for name in ("Conv1d", "Conv2d", "Conv3d")},
    **{name: {"bias": True} for name in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")},
}
"""What torch takes where a keyword is not given."""

BOUND = {
    "Linear": {
        "input_size": "in",
        "in_features": "in",
        "output_size": "out",
        "out_features": "out",
        "bias": "bias",
    },
    "Embedding": {"num_embeddings": "in", "embedding_dim": "out"},
}
POSITIONS = {"Linear": ("in", "out", "bias"), "Embedding": ("in", "out")}

ACTIVATIONS = {
    "GELU": "gelu", "ReLU": "relu", "SiLU": "silu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softmax": "softmax",
    "ELU": "elu", "Mish": "mish", "Hardswish": "hardswish", "LeakyReLU": "leaky_relu", "Softplus": "softplus",
}  # fmt: skip
"""Modules without weights, and the functions that do the same."""

INITIALISERS = frozenset(
    """normal_ trunc_normal_ uniform_ zeros_ ones_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
    constant_ orthogonal_""".split()
)

CONTRASTS = (
    frozenset(f"f:{name}" for name in [*ACTIVATIONS.values(), "log_softmax", "relu6", "glu"]),
    frozenset("f:mean f:sum f:amax f:amin f:max f:min f:prod f:std f:var f:norm".split()),
    frozenset("f:cat f:stack + - * /".split()),
    frozenset("+ - * / // % **".split()),
    frozenset("f:adaptive_max_pool2d f:adaptive_avg_pool2d f:max_pool2d f:avg_pool2d f:interpolate".split()),
    frozenset("f:zeros f:ones f:empty f:rand f:randn f:zeros_like f:ones_like f:empty_like".split()),
    frozenset(f"f:{name}" for name in INITIALISERS),
    frozenset("> >= < <= ==".split()),
    frozenset(("loop", "first turn")),
    frozenset("and or".split()),
)
"""Operations that surely differ from each other."""

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not",
    ast.Invert: "~", ast.And: "and", ast.Or: "or",
}  # fmt: skip
COMMUTATIVE = frozenset("+ * == & |".split())


_SPLIT = re.compile(r"distributed|parallel|megatron", re.IGNORECASE)


def plain(name: str) -> str:
    """The name of a class or style without what says that it is split."""
    return _SPLIT.sub("", name)


def is_config(name: str) -> bool:
    """Whether a name is that of Megatron's configuration object."""
    return name in ("config", "megatron_config", "transformer_config", "self.config")

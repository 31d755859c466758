"""Which rule speaks of an error: by its words, and by what ran when it came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from traceback import FrameSummary

from torch import nn

_BY_WORDS = (
    (
        r"must be Tensor, not tuple|'tuple' object has no attribute|tuple' and '|and 'tuple'",
        "parallel-linear-tuple-used",
    ),
    (r"must be Tensor, not dict", "submodule-not-given-dict"),
    (r"must be Tensor, not NoneType", "forward-returns-none"),
    (
        r"__init__\(\) missing .*'config'|__init__\(\) missing .*'init_method'",
        "parallel-layer-argument-missing",
    ),
    (r"ParallelLinear.__init__\(\) missing", "parallel-layer-argument-missing"),
    (r"unknown \w+ style|[Uu]nknown.*style", "unknown-module-style"),
    (
        r"__init__\(\) got an unexpected keyword|__init__\(\) missing|__init__\(\) got multiple values",
        "style-arguments-rejected",
    ),
    (r"forward\(\) (got|missing|takes)", "forward-arguments-rejected"),
    (r"has no attribute 'set_input_tensor'", "stage-set-input-tensor-missing"),
    (r"object has no attribute", "attribute-never-set"),
    (r"not enough values to unpack|too many values to unpack", "stage-input-not-list-safe"),
    (r"partially initialized module|circular import", "distributed-import-cycle"),
    (r"cannot import name", "registry-target-missing"),
    (r"must be a multiple of|not divisible by", "heads-not-divisible-by-tp"),
    (r"loss_func\(\) (missing|takes|got)", "loss-label-binding"),
    (r"modified by an inplace|modified inplace|in-place operation", "received-tensor-changed-in-place"),
    (r"stage_shapes", "stage-shapes-count"),
)
_SHAPES = re.compile(
    r"cannot be multiplied|must match the size|normalized_shape|Sizes of tensors|is invalid for input of size"
    r"|size mismatch|expected input with shape"
)


def rule_of(
    error: BaseException, modules: Sequence[tuple[nn.Module, str]], frames: Sequence[FrameSummary]
) -> str:
    """The symbol of the rule, "" where none is known."""
    text = f"{type(error).__name__}: {error}"
    kinds = [type(module).__name__ for module, _ in modules]
    if _SHAPES.search(text):
        if kinds and "RowParallelLinear" in kinds[-1]:
            return "input-is-parallel-mismatch"
        if kinds and "ColumnParallelLinear" in kinds[-1]:
            return "parallel-linear-width-mismatch"
        if kinds and "Norm" in kinds[-1]:
            return "sharded-value-escapes"
        return "full-heads-on-sharded-value" if kinds and "ttention" in kinds[-1] else ""
    for pattern, rule in _BY_WORDS:
        if re.search(pattern, text):
            return rule
    return ""

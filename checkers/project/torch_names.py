"""Names of torch operations, by what they do to the memory and the type of a tensor."""

from __future__ import annotations

MOVES = frozenset(
    """transpose permute swapaxes swapdims movedim moveaxis expand expand_as broadcast_to narrow unfold t
    rearrange""".split()
)
VIEWS = frozenset("view reshape flatten unflatten squeeze unsqueeze view_as reshape_as contiguous".split())
SPLITS = frozenset("split chunk unbind tensor_split".split())
FACTORIES = frozenset(
    "tensor zeros ones full empty arange linspace rand randn as_tensor eye from_numpy".split()
)
LIKE = frozenset(
    "zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty new_tensor".split()
)
INTEGERS = frozenset(
    "argmax argmin argsort nonzero bincount randint long int multinomial searchsorted bucketize".split()
)
BOOLEANS = frozenset(
    "bool eq ne gt ge lt le isnan isfinite isinf logical_and logical_or logical_not any all".split()
)
NUMBERS = frozenset(
    "item numel dim size_of ndimension len int float bool round abs min max sum ceil floor prod".split()
)
KEPT = frozenset(
    "to type cuda cpu float half bfloat16 double type_as clone detach requires_grad_ pin_memory".split()
)
OF_BUFFERS = MOVES | VIEWS | SPLITS | {"repeat", "size", "clone", "float", "type_as"}
DTYPES = {
    "bool": "bool", "long": "int", "int": "int", "int32": "int", "int64": "int", "int16": "int", "int8": "int",
    "uint8": "int", "float32": "float32", "float": "float32", "half": "half", "float16": "half", "bfloat16": "half",
    "double": "float64", "float64": "float64", "dtype": "like", "params_dtype": "like", "pipeline_dtype": "like",
}  # fmt: skip

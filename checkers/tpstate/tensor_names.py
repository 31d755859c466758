"""Tensor operations by what they do to the last dimension."""

from __future__ import annotations

KEEP = frozenset(
    """abs add_ clamp clip clone contiguous cpu cuda detach detach_ double dropout dropout_ elu exp float
    gelu half bfloat16 leaky_relu log masked_fill masked_fill_ mul_ neg pow relu relu_ requires_grad_
    rsqrt sigmoid silu sin cos softmax log_softmax softplus sqrt square sub_ tanh tanh_ to type type_as
    nan_to_num erf mish hardswish glu_ identity copy_ fill_ zero_ div_ where_ pin_memory retain_grad
    sign roll flip tril triu float_ int long bool round alpha_dropout normalize_ hardtanh selu celu
    logsigmoid stop_gradient index_select_ ones_like zeros_like empty_like rand_like randn_like
    full_like make_viewless_tensor make_viewless masked_scatter narrow_ cumsum""".split()
)

RESHAPE = frozenset("view reshape unflatten view_as reshape_as flatten".split())

MOVE = frozenset(
    """permute transpose transpose_ t swapaxes movedim moveaxis unsqueeze unsqueeze_ squeeze squeeze_
    expand expand_as repeat repeat_interleave rearrange einops_rearrange pad gather index_select scatter
    scatter_ scatter_add take_along_dim unfold as_strided broadcast_to tile select narrow mT T
    index_copy masked_select index_add rot90""".split()
)

SPLIT = frozenset("chunk split unbind tensor_split split_with_sizes split_tensor_along_last_dim".split())

REDUCE = frozenset(
    "sum mean max min amax amin norm std var prod argmax argmin any all topk sort logsumexp".split()
)

ARITHMETIC = frozenset("add sub mul div true_divide subtract multiply maximum minimum".split())

ADDITIVE = frozenset("add sub subtract".split())

SCALAR = frozenset(
    "item tolist numel dim size stride element_size data_ptr nelement ndimension get_device".split()
)

METHODS = (
    KEEP
    | RESHAPE
    | MOVE
    | SPLIT
    | REDUCE
    | ARITHMETIC
    | SCALAR
    | {"matmul", "bmm", "mm", "unbind", "size", "new_zeros"}
)

"""Column- and Row-parallel linear layers as one operator each, opaque to torch.compile.

# I and O: input and output channels of the part of a layer that this rank holds
"""

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.nn import functional as F


def column_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, group) -> torch.Tensor:
    """``F.linear`` of an input that all ranks of ``group`` share; its gradient is summed over them.

    x: (..., I), weight: (O, I), bias: (O,) or None. Returns (..., O). The all-reduce runs while the gradient of
    the weight is computed, as in Megatron's layer.
    """
    if group.size() == 1:
        return F.linear(x, weight, bias)
    return _column(x, weight, bias, group.group_name)


def row_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, group) -> torch.Tensor:
    """``F.linear`` with input channels and weight split over ``group``, summed over its ranks; then the bias.

    x: (..., I), weight: (O, I), bias: (O,). Returns (..., O), the same on all ranks.
    """
    if group.size() == 1:
        return F.linear(x, weight, bias)
    return _row(x, weight, group.group_name) + bias


@torch.library.custom_op("onescience_check::column_linear", mutates_args=())
def _column(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, group_name: str
) -> torch.Tensor:
    return F.linear(x, weight, bias)


@_column.register_fake
def _(x, weight, bias, group_name):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@torch.library.custom_op("onescience_check::column_linear_backward", mutates_args=())
def _column_backward(
    upstream: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, group_name: str
) -> tuple[torch.Tensor, torch.Tensor]:
    grad_x = upstream @ weight
    reduced = dist.all_reduce(grad_x, group=_resolve_process_group(group_name), async_op=True)
    grad_weight = upstream.flatten(0, -2).T @ x.flatten(0, -2)
    reduced.wait()
    return grad_x, grad_weight


@_column_backward.register_fake
def _(upstream, x, weight, group_name):
    return x.new_empty(x.shape), weight.new_empty(weight.shape)


def _keep_input_and_weight(ctx, inputs, output):
    x, weight, *_, ctx.group_name = inputs
    ctx.save_for_backward(x, weight)


def _backward_of_column(ctx, upstream):
    upstream = upstream.contiguous()
    grad_x, grad_weight = _column_backward(upstream, *ctx.saved_tensors, ctx.group_name)
    grad_bias = upstream.flatten(0, -2).sum(0) if ctx.needs_input_grad[2] else None
    return grad_x, grad_weight, grad_bias, None


_column.register_autograd(_backward_of_column, setup_context=_keep_input_and_weight)


@torch.library.custom_op("onescience_check::row_linear", mutates_args=())
def _row(x: torch.Tensor, weight: torch.Tensor, group_name: str) -> torch.Tensor:
    out = F.linear(x, weight)
    dist.all_reduce(out, group=_resolve_process_group(group_name))
    return out


@_row.register_fake
def _(x, weight, group_name):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _backward_of_row(ctx, upstream):
    x, weight = ctx.saved_tensors
    return upstream @ weight, upstream.flatten(0, -2).T @ x.flatten(0, -2), None


_row.register_autograd(_backward_of_row, setup_context=_keep_input_and_weight)

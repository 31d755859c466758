"""Megatron's Column and Row layers in a form that torch.compile takes whole: same weights, same results.

Inside Megatron's own forward torch.compile stops several times (a warning that only rank 0 gives, an asynchronous
all-reduce), and what lies between, biases above all, runs as passes of their own over the activations. Here
a layer is one product and at most one all-reduce, opaque to the compiler, and all else is fused around it.

# N tokens, I and O input and output channels of the part of a layer that this rank holds
"""

from types import MethodType

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.nn import functional as F

from .attention.earthdistributedattention3d import EarthDistributedAttention3D
from .mlp.pangudistributedmlp import PanguDistributedMlp


def make_traceable(model: nn.Module) -> None:
    """Exchange what the parallel layers in the blocks of ``model`` compute with, in place, for the functions below.

    The few layers around the blocks keep Megatron's.
    """
    for module in model.modules():
        if isinstance(module, EarthDistributedAttention3D):
            module.project_qkv = MethodType(_project_qkv, module)
            module.proj.forward = MethodType(_row_forward, module.proj)
        elif isinstance(module, PanguDistributedMlp):
            module.fc1.forward = MethodType(_column_forward, module.fc1)
            module.fc2.forward = MethodType(_row_forward, module.fc2)


def column_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, group) -> torch.Tensor:
    """``F.linear`` of an input that all ranks of ``group`` share; its gradient is summed over them.

    x: (..., I), weight: (O, I), bias: (O,). Returns (..., O). The all-reduce runs while the gradient of the
    weight is computed, as in Megatron's layer.
    """
    if group.size() == 1:
        return F.linear(x, weight, bias)
    return _column(x, weight, bias, group.group_name)


def row_linear(x: torch.Tensor, weight: torch.Tensor, group) -> torch.Tensor:
    """``F.linear`` with input channels and weight split over ``group``, summed over its ranks.

    x: (..., I), weight: (O, I). Returns (..., O), the same on all ranks.
    """
    if group.size() == 1:
        return F.linear(x, weight)
    return _row(x, weight, group.group_name)


def _project_qkv(self, x: torch.Tensor) -> torch.Tensor:
    layers = (self.q_proj, self.k_proj, self.v_proj)
    weight, bias = (torch.cat([getattr(layer, name) for layer in layers]) for name in ("weight", "bias"))
    return column_linear(x, weight, bias, self.q_proj.tp_group)


def _column_forward(self, x: torch.Tensor):
    return column_linear(x, self.weight, self.bias, self.tp_group), None


def _row_forward(self, x: torch.Tensor):
    return row_linear(x, self.weight, self.tp_group) + self.bias, None


@torch.library.custom_op("onescience_check::column_linear", mutates_args=())
def _column(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, group_name: str) -> torch.Tensor:
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
    return torch.empty_like(x), torch.empty_like(weight)


def _keep_input_and_weight(ctx, inputs, output):
    x, weight, *_, ctx.group_name = inputs
    ctx.save_for_backward(x, weight)


def _backward_of_column(ctx, upstream):
    upstream = upstream.contiguous()
    grad_x, grad_weight = _column_backward(upstream, *ctx.saved_tensors, ctx.group_name)
    return grad_x, grad_weight, upstream.flatten(0, -2).sum(0), None


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

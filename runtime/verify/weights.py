"""Weights of the stages: whether the ranks start as they must, and the original's weights in their places."""

from __future__ import annotations

import hashlib
import math

import torch
from torch import nn

from . import matching
from .smallrun import Failed, SmallRun

_TABLE = 0.5  # spread of tables and other parameters that no product reads
_SHIFT = 0.1  # spread of biases and of what scales


def start_alike(run: SmallRun) -> None:
    """What every rank holds in full must start alike, and shards must not."""
    mine = {}
    for number, stage in enumerate(run.stages):
        for name, parameter in stage.named_parameters():
            constant = bool(parameter.numel() < 2 or (parameter == parameter.flatten()[0]).all())
            digest = hashlib.sha256(parameter.detach().numpy().tobytes()).hexdigest()
            mine[number, name] = (_is_marked(parameter), constant, digest)
    everywhere = run.from_tp_ranks(mine)
    if run.plan.tp == 1:
        return
    for (number, name), (marked, constant, digest) in mine.items():
        others = [ranks.get((number, name)) for ranks in everywhere]
        same = all(other is None or other[2] == digest for other in others)
        path = name.rpartition(".")[0]
        if not marked and not same:
            text = f"{name} is not marked as split, yet the tensor-parallel ranks start it differently"
            run.add("start", text, number, path, "replicated-parameter-unsynced")
        if marked and same and not constant:
            text = f"{name} is split, yet every tensor-parallel rank starts with the same shard"
            run.add("start", text, number, path, "same-init-on-all-ranks")


def _is_marked(parameter: nn.Parameter) -> bool:
    return bool(getattr(parameter, "tensor_model_parallel", False))


@torch.no_grad()
def load(run: SmallRun) -> None:
    """Give the stages the weights of the original, at sizes that leave no module without effect.

    Raises:
        Failed: no parameter of the stages is one of the original's.
    """
    enlarge(run.original)
    wanted = dict(run.original.named_parameters())
    buffers = dict(run.original.named_buffers())
    for number, stage in enumerate(run.stages):
        own = dict(stage.named_parameters())
        names = matching.originals(own, wanted, run.plan.names)
        cuts: dict[str, int | None] = {}
        for name, other in names.items():
            dim = cut_of(own[name], wanted[other], run.plan.tp)
            part = shard(wanted[other], dim, own[name], run.tp_rank, run.plan.tp)
            if part.shape == own[name].shape:
                own[name].copy_(part)
                cuts[name] = dim
                continue
            text = f"{name} is {list(own[name].shape)} here and {list(wanted[other].shape)} in the original"
            run.add("parameters", text, number, name.rpartition(".")[0], "parallel-linear-width-mismatch")
        run.names.append({name: other for name, other in names.items() if name in cuts})
        run.cuts.append(cuts)
        for name, buffer in stage.named_buffers():
            other = buffers.get(name)
            if other is not None and other.shape == buffer.shape and buffer.is_floating_point():
                buffer.copy_(other)
    if not any(run.names):
        run.notes.append("no parameter of the stages has a name of the original's: give a table with --names")
        raise Failed


def enlarge(model: nn.Module) -> None:
    """Weights with which every module shows in the result: first weights are often so small, or zero, that a wrong
    bias or score hides.
    """
    generator = torch.Generator().manual_seed(2)
    products = {
        id(module.weight): module.weight[0].numel()
        for module in model.modules()
        if isinstance(module, nn.Linear | nn.modules.conv._ConvNd)
    }
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if id(parameter) in products:
            parameter.copy_(noise / math.sqrt(products[id(parameter)]))
        elif parameter.ndim > 1:
            parameter.copy_(_TABLE * noise)
        else:
            parameter += _SHIFT * noise


def cut_of(parameter: nn.Parameter, whole: torch.Tensor, tp: int) -> int | None:
    """The dimension in which a parameter is a shard: by its mark, else by its shape."""
    dim = getattr(parameter, "partition_dim", None) if _is_marked(parameter) else None
    if dim in (None, -1) or parameter.shape == whole.shape:
        return matching.cut_dimension(tuple(parameter.shape), tuple(whole.shape), tp)
    return dim


def shard(
    tensor: torch.Tensor, dim: int | None, parameter: nn.Parameter, rank: int, size: int
) -> torch.Tensor:
    """What rank `rank` holds of a tensor of the original, as megatron-core cuts it."""
    if dim is None or size == 1 or dim >= tensor.ndim:
        return tensor
    stride = max(getattr(parameter, "partition_stride", 1), 1)
    return torch.cat(tensor.chunk(size * stride, dim)[rank::size], dim)

"""How a parameter is cut for tensor parallelism, and put together again. Exact: no arithmetic, only slices.

A `Cut` is (dimension, stride), as megatron-core marks its parameters (``partition_dim``,
``partition_stride``): the dimension is cut into ``tp * stride`` equal pieces and rank r holds pieces r, r +
tp, r + 2 tp …  Stride is 1 but for layers that keep several projections side by side.
"""

from collections.abc import Sequence

import torch
from torch import nn

from ..errors import UserError

Cut = tuple[int, int]


def cuts_of(module: nn.Module) -> dict[str, Cut]:
    """The cut of each sharded parameter of `module`, by name. What is not listed is held in full by every
    rank.
    """
    return {
        name: (param.partition_dim, param.partition_stride)
        for name, param in module.named_parameters()
        if getattr(param, "tensor_model_parallel", False)
    }


def shard(tensor: torch.Tensor, cut: Cut | None, rank: int, size: int, name: str) -> torch.Tensor:
    """What tensor-parallel rank `rank` of `size` holds of `tensor`.

    Raises:
        UserError: the dimension does not divide.
    """
    if cut is None or size == 1:
        return tensor.clone()
    dim, stride = cut
    if tensor.shape[dim] % (size * stride):
        raise UserError(
            f"{name}: dimension {dim} of size {tensor.shape[dim]} does not divide into {size} "
            "tensor-parallel ranks"
        )
    return torch.cat(tensor.chunk(size * stride, dim)[rank::size], dim)


def unshard(shards: Sequence[torch.Tensor], cut: Cut | None, name: str) -> torch.Tensor:
    """The whole of which `shards` are what ranks 0, 1, … hold.

    Raises:
        UserError: a parameter that ranks should hold alike differs between them.
    """
    if cut is None:
        for rank, other in enumerate(shards[1:], start=1):
            if not torch.equal(shards[0], other):
                difference = (shards[0].float() - other.float()).abs().max().item()
                raise UserError(
                    f"{name} is not sharded, yet tensor-parallel ranks 0 and {rank} differ by up to "
                    f"{difference:.3g}: "
                    "the ranks trained apart"
                )
        return shards[0].clone()
    dim, stride = cut
    pieces = [piece.chunk(stride, dim) for piece in shards]
    return torch.cat([piece[index] for index in range(stride) for piece in pieces], dim)

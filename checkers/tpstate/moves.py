"""A tensor whose parts are at other places, or that was used as if it were whole."""

from __future__ import annotations

from .states import State
from .values import Tensor


def moved(tensor: Tensor) -> Tensor:
    """Dimensions changed places: a split one may be anywhere now."""
    return used_whole(tensor).but(
        last=tensor.state is not State.SHARDED, width=None, dims=None, sizes=None, axis=None
    )


def used_whole(tensor: Tensor) -> Tensor:
    """The tensor after something that needs every channel at once: a gather before it was not for nothing."""
    return tensor.but(role="") if tensor.role == "gathered" else tensor

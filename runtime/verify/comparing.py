"""Whether two tensors are the same number for number, up to the rounding that another order of adding gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch

EPS = torch.finfo(torch.float32).eps
# A layout adds the same terms in another order. Rounding of a sum of n terms grows like sqrt(n) of the largest; some
# thousand terms and a few dozen sums in a row give 64 x 8 roundings (eps / 2). Where terms cancel, the disturbed run of
# the original, whose weights are off by one rounding each, shows by how much a number moves: ROUNDINGS of those.
RELATIVE = 64 * 8 * EPS / 2
ROUNDINGS = 64


@dataclass(frozen=True)
class Reference:
    """A tensor of the original, and how far it moves when every weight is off by one rounding."""

    value: torch.Tensor
    moved: float

    @classmethod
    def of(cls, value: torch.Tensor, disturbed: torch.Tensor) -> Reference:
        """From the run as it is, and the disturbed one."""
        return cls(value, _largest(value - disturbed))

    def tolerance(self) -> float:
        """The largest difference that rounding explains."""
        return RELATIVE * _largest(self.value) + ROUNDINGS * self.moved

    def difference(self, other: torch.Tensor, size: int = 1, rank: int = 0) -> float | None:
        """How far `other`, or the shard of one rank, is off, as a multiple of what rounding explains.

        None where the shapes cannot be compared.
        """
        mine = self.share(other, size, rank)
        if mine is None:
            return None
        off = _largest(other.float() - mine.float())
        return off / max(self.tolerance(), 1e-30)

    def relative(self, other: torch.Tensor, size: int = 1, rank: int = 0) -> float:
        """The largest difference as a share of the largest number."""
        mine = self.share(other, size, rank)
        return float("nan") if mine is None else _largest(other - mine) / max(_largest(mine), 1e-30)

    def share(self, other: torch.Tensor, size: int, rank: int) -> torch.Tensor | None:
        if other.shape == self.value.shape:
            return self.value
        if other.ndim != self.value.ndim:
            return None
        differing = [d for d in range(other.ndim) if other.shape[d] != self.value.shape[d]]
        if len(differing) == 1 and other.shape[differing[0]] * size == self.value.shape[differing[0]]:
            return self.value.chunk(size, differing[0])[rank]
        return None


def _largest(tensor: torch.Tensor) -> float:
    """The largest absolute value; infinite where there is a NaN."""
    if tensor.numel() == 0:
        return 0.0
    found = tensor.detach().abs().max().item()
    return float("inf") if found != found else found

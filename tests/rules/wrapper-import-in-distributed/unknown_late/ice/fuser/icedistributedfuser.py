from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from .onefuser import OneFuser


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rest: OneFuser | None = None

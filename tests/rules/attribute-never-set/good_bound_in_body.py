"""Names that the body of a class binds under a condition, and what a MegatronModule has."""

import sys

from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.transformer.module import MegatronModule


class DistributedMix(MegatronModule):
    if sys.version_info >= (3, 11):

        def widened(self, x):
            return x

    else:
        from elsewhere import widened
    low, high = 0, 1

    def __init__(self, dim, config):
        super().__init__(config=config)
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        self.set_is_first_microbatch()
        return self.widened(self.inner(x)[0]) * self.high, self.shared_embedding_or_output_weight()

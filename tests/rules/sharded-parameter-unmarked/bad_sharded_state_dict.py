import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint


class HeadScale(MegatronModule):
    """A checkpoint knows the shards; the gradient norm does not."""

    def __init__(self, config, heads, pg_collection):
        super().__init__(config=config)
        self.up = ColumnParallelLinear(heads, heads, config=config, init_method=config.init_method)
        assert heads % pg_collection.tp.size() == 0
        self.local = heads // pg_collection.tp.size()
        self.scale = torch.nn.Parameter(torch.ones(self.local))  # [sharded-parameter-unmarked]

    def forward(self, x):
        return self.up(x)[0] * self.scale

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
        return make_sharded_tensors_for_checkpoint(self.state_dict(), prefix, {"scale": 0}, sharded_offsets)

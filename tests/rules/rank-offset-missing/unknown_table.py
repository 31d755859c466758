from megatron.core import parallel_state
from torch import nn


class Bias(nn.Module):
    """The table may be one rank's own, and longer for another reason."""

    def __init__(self, config, table):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.mine = config.num_attention_heads // ranks
        self.table = table

    def forward(self, q):
        return q[: self.mine] + self.table[: self.mine]

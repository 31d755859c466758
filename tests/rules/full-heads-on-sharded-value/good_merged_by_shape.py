import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Mix(nn.Module):
    """The sizes are read from the query, whose heads are those of one rank."""

    def __init__(self, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.hidden_per_partition = config.hidden_size // ranks
        self.heads = config.num_attention_heads // ranks
        self.each = config.kv_channels
        self.read = ColumnParallelLinear(
            config.hidden_size,
            3 * config.hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x, wanted):
        tokens, batch, _ = x.shape
        mixed, _ = self.read(x)
        mixed = mixed.view(tokens, batch, self.heads, 3 * self.each)
        q, k, v = torch.split(mixed, self.each, dim=3)
        length, rows, n, d = q.shape
        if wanted == "flat":
            return q.reshape(length, rows, n * d)
        if wanted == "known":
            return k.reshape(tokens, batch, self.hidden_per_partition)
        return v.flatten(2).reshape(tokens * batch, -1)

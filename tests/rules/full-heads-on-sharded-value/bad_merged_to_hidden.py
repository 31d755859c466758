import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Mix(nn.Module):
    def __init__(self, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.hidden = config.hidden_size
        self.heads = config.num_attention_heads // ranks
        self.each = config.kv_channels
        self.read = ColumnParallelLinear(
            config.hidden_size,
            3 * config.hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        tokens, batch, _ = x.shape
        mixed, _ = self.read(x)
        mixed = mixed.view(tokens, batch, self.heads, 3 * self.each)
        q, k, v = torch.split(mixed, self.each, dim=3)
        q, k, v = (part.permute(1, 2, 0, 3) for part in (q, k, v))
        seen = torch.softmax(q @ k.transpose(2, 3), dim=-1) @ v
        return seen.permute(2, 0, 1, 3).reshape(tokens, batch, self.hidden)  # [full-heads-on-sharded-value]

import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Queries(nn.Module):
    """Each head is normalised by itself, and attention runs over the tokens."""

    def __init__(self, config, width):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.mine = config.num_attention_heads // ranks
        self.width = width
        self.query = ColumnParallelLinear(
            config.hidden_size,
            config.num_attention_heads * width,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        s, b, _ = x.shape
        q, _ = self.query(x)
        q = F.layer_norm(q.view(s, b, self.mine, self.width), (self.width,))
        q = q.transpose(0, 2)
        return q.softmax(dim=2).mean(dim=-1)

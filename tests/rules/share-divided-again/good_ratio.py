from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Words(nn.Module):
    """A ratio of shares, and a share made whole again."""

    def __init__(self, config, words):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0 and config.num_query_groups % ranks == 0
        self.per_group = (config.num_attention_heads // ranks) // (config.num_query_groups // ranks)
        self.out = ColumnParallelLinear(
            config.hidden_size, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        logits = self.out(x)[0]
        return logits, logits.shape[-1] * ranks // ranks, x.shape[-1] // ranks

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Classes(nn.Module):
    """The ranks' own maxima are exchanged, and the sums scaled by them; a norm over what is not split."""

    def __init__(self, config, classes):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.num_attention_heads % ranks == 0
        self.heads, self.each = config.num_attention_heads // ranks, config.kv_channels
        self.score = ColumnParallelLinear(
            config.hidden_size, classes, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        group = parallel_state.get_tensor_model_parallel_group()
        s, b, _ = x.shape
        scores = self.score(x)[0]
        own = scores.amax(dim=-1, keepdim=True)
        total = (scores - own).exp().sum(dim=-1, keepdim=True)
        best = own.clone()
        dist.all_reduce(best, op=dist.ReduceOp.MAX, group=group)
        dist.all_reduce(total.mul_((own - best).exp()), group=group)
        heads = scores.view(s, b, self.heads, self.each)
        return total, heads / heads.norm(dim=-1, keepdim=True), torch.argmax(heads, dim=-1)

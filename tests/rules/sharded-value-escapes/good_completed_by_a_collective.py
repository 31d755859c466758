import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Regimes(nn.Module):
    """Means and best classes of the parts are put together by a collective; other dimensions are whole."""

    def __init__(self, dim, classes, config):
        super().__init__()
        self.group = parallel_state.get_tensor_model_parallel_group()
        self.score = ColumnParallelLinear(
            dim, classes, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        scores, _ = self.score(x)
        over_tokens = torch.softmax(scores, dim=1)
        square = scores.pow(2).mean(-1, keepdim=True)
        torch.distributed.all_reduce(square, group=self.group)
        return scores * torch.rsqrt(square), over_tokens

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class WindDistributedAttention(nn.Module):
    def __init__(self, width, num_heads, config):
        super().__init__()
        tp_size = parallel_state.get_tensor_model_parallel_world_size()
        assert num_heads % tp_size == 0
        self.own_heads = num_heads // tp_size
        self.head_dim = width // num_heads
        self.query, self.key, self.value = (
            ColumnParallelLinear(width, width, config=config, init_method=config.init_method, gather_output=False)
            for _ in range(3)
        )
        self.bias = nn.Parameter(torch.zeros(1, num_heads // tp_size, 1, 1))
        self.out = RowParallelLinear(
            width, width, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        rows, length, channels = x.shape
        q, k, v = self.query(x)[0], self.key(x)[0], self.value(x)[0]
        q = q.view(rows, length, self.own_heads, self.head_dim).transpose(1, 2)
        k = k.view(rows, length, self.own_heads, self.head_dim).transpose(1, 2)
        v = v.view(rows, length, self.own_heads, self.head_dim).transpose(1, 2)
        weights = q @ k.transpose(-1, -2) + self.bias
        mixed = torch.softmax(weights, dim=-1) @ v
        mixed = mixed.transpose(1, 2).reshape(rows, length, channels)  # [full-heads-on-sharded-value]
        return self.out(mixed)[0]

from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, QKVParallelLinear, ReplicatedLinear


class Embed(nn.Module):
    def __init__(self, config, use_data_parallel=False):
        super().__init__()
        params = {"input_size": config.channels, "output_size": config.hidden_size, "bias": False}
        if use_data_parallel:
            cls = ReplicatedLinear
        else:
            cls = ColumnParallelLinear
            params["gather_output"] = True
        self.linear = cls(**params)

    def forward(self, x):
        x, _ = self.linear(x)
        return x


class Vision(nn.Module):
    def __init__(self, config, use_data_parallel=False):
        super().__init__()
        self.embed = Embed(config, use_data_parallel)
        self.norm = nn.LayerNorm(config.hidden_size)
        if use_data_parallel:
            self.qkv_proj = ReplicatedLinear(config.hidden_size, 3 * config.hidden_size)
        else:
            self.qkv_proj = QKVParallelLinear(config.hidden_size, config.head_dim, config.num_heads)

    def forward(self, x):
        x = self.norm(self.embed(x))
        return self.qkv_proj(x)[0]

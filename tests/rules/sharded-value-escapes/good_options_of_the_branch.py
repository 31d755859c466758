from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear


class Embed(nn.Module):
    def __init__(self, config):
        super().__init__()
        params = {"input_size": config.channels, "output_size": config.hidden_size, "bias": False}
        if config.normed:
            params["gather_output"] = True
        self.linear = ColumnParallelLinear(**params)
        self.norm = nn.LayerNorm(config.hidden_size)

    def forward(self, x):
        x, _ = self.linear(x)
        return self.norm(x)

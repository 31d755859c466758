from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, ReplicatedLinear


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
        return self.linear(x)[0]

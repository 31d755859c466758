import torch
from torch import nn
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class Tower(nn.Module):
    def __init__(self, cfg, depth):
        super().__init__()
        self.ups, self.downs = [], []  # [module-in-plain-container, module-in-plain-container]
        for _ in range(depth):
            self.ups.append(ColumnParallelLinear(cfg.hidden_size, cfg.ffn_hidden_size, config=cfg, init_method=cfg.init_method, gather_output=False))
            self.downs.append(RowParallelLinear(cfg.ffn_hidden_size, cfg.hidden_size, config=cfg, init_method=cfg.init_method, bias=True, input_is_parallel=True, skip_bias_add=False))

    def forward(self, x):
        for up, down in zip(self.ups, self.downs):
            h, _ = up(x)
            x = x + down(torch.relu(h))[0]
        return x

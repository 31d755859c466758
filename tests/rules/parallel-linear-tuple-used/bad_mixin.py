import torch
from torch import nn
from megatron.core import tensor_parallel as tpl


class _Layers:
    linear_cls = tpl.ColumnParallelLinear
    out_cls = tpl.RowParallelLinear

    def make(self, i, o, cfg):
        self.fc_in = self.linear_cls(i, o, config=cfg, init_method=cfg.init_method, gather_output=False)
        self.fc_out = self.out_cls(o, i, config=cfg, init_method=cfg.init_method, bias=True, input_is_parallel=True, skip_bias_add=False)


class Mlp(_Layers, nn.Module):
    def __init__(self, d, cfg):
        super().__init__()
        self.make(d, 4 * d, cfg)

    def forward(self, x):
        h = self.fc_in(x)[0]
        return x + self.fc_out(torch.relu(h))  # [parallel-linear-tuple-used]

from megatron.core.tensor_parallel import checkpoint, ColumnParallelLinear
from torch import nn


class Ice_stage1(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)

    def run(self, x, obj):
        return self.fc(x)[0]

    def forward(self, x):
        obj = {}
        obj["x"] = x
        x = checkpoint(self.run, False, x, obj)  # [checkpoint-of-non-tensor]
        return checkpoint(self.run, False, x, [x, x])  # [checkpoint-of-non-tensor]

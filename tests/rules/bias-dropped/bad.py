from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SelfAttentionOutput(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.dense = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=True
        )
        self.fc = ColumnParallelLinear(
            dim, dim, config=config, init_method=init, skip_bias_add=True, gather_output=True
        )

    def forward(self, context):
        out, _bias = self.dense(context)  # [bias-dropped]
        gate = self.fc(context)[0]  # [bias-dropped]
        return out * gate.sigmoid()

from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from torch.nn import functional as F


class Gated(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        self.both = ColumnParallelLinear(
            dim, 2 * hidden, config=config, init_method=config.init_method, gather_output=False
        )

    def load(self, weight):
        tp = parallel_state.get_tensor_model_parallel_world_size()
        rank = parallel_state.get_tensor_model_parallel_rank()
        self.both.weight.data.copy_(weight.chunk(tp, dim=0)[rank])  # [fused-qkv-not-tp-invariant]

    def forward(self, x):
        gate, up = self.both(x)[0].chunk(2, dim=-1)
        return F.silu(gate) * up

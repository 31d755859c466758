from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from torch.nn import functional as F


class Plain(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        self.up = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, gather_output=False
        )

    def load(self, weight):
        tp = parallel_state.get_tensor_model_parallel_world_size()
        rank = parallel_state.get_tensor_model_parallel_rank()
        self.up.weight.data.copy_(weight.chunk(tp, dim=0)[rank])

    def forward(self, x):
        return F.silu(self.up(x)[0])

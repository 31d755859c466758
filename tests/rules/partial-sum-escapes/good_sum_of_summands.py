from torch import nn
from torch.nn import functional as F
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.distributed import get_tensor_model_parallel_rank
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class TwoPaths(nn.Module):
    """Two partial sums are added and reduced once; a bias joins on one rank."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)
        self.side = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        h = F.gelu(self.up(self.norm(x))[0])
        out = 0.5 * self.down(h)[0] + self.side(h)[0]
        if get_tensor_model_parallel_rank() == 0:
            out = out + x
        return tensor_model_parallel_all_reduce(out)

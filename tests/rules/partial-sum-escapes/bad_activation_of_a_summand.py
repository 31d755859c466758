import torch
from torch import nn
from torch.nn import functional as F
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Wind(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)
        self.head = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.head(x)
        out, _ = self.down(F.gelu(self.up(x)[0]))
        gate = torch.sigmoid(out)  # [partial-sum-escapes]
        skip = self.norm(out)  # [partial-sum-escapes]
        return gate * skip + (x + out)  # [partial-sum-escapes]

import torch.nn.functional as F
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear
from megatron.core import tensor_parallel
from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear as VllmColumn
from vllm.model_executor.layers.linear import RowParallelLinear as VllmRow


class LlamaFeedForward(nn.Module):
    """fairscale's layers return the tensor."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = ColumnParallelLinear(dim, hidden, bias=False, gather_output=False)
        self.w2 = RowParallelLinear(hidden, dim, bias=False, input_is_parallel=True)
        self.w3 = ColumnParallelLinear(dim, hidden, bias=False, gather_output=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class VllmMlp(nn.Module):
    """vLLM's do with return_bias=False."""

    def __init__(self, dim):
        super().__init__()
        self.up = VllmColumn(dim, 4 * dim, return_bias=False)
        self.down = VllmRow(4 * dim, dim, return_bias=False)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


class OutputOnly(tensor_parallel.ColumnParallelLinear):
    """Unwraps the pair itself."""

    def forward(self, x):
        output, _ = super().forward(x)
        return output


class Head(nn.Module):
    def __init__(self, dim, vocabulary, config):
        super().__init__()
        self.embed = tensor_parallel.VocabParallelEmbedding(
            vocabulary, dim, init_method=config.init_method, config=config
        )
        self.out = OutputOnly(dim, vocabulary, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, tokens):
        return self.out(self.embed(tokens) * 2.0).float()

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from vllm.model_executor.layers.linear import QKVParallelLinear


class HeadsFirst(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.heads, self.head_dim = num_heads // tp, dim // num_heads
        init = config.init_method
        self.qkv = ColumnParallelLinear(dim, 3 * dim, config=config, init_method=init, gather_output=False)
        self.gate_up = ColumnParallelLinear(dim, 2 * dim, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv, _ = self.qkv(x)
        q, k, v = qkv.view(batch, tokens, self.heads, 3, self.head_dim).unbind(3)
        gate, up = self.gate_up(x)[0].chunk(2, dim=-1)
        return q, k, v, gate * up

    def load_pretrained(self, q, k, v):
        tp = parallel_state.get_tensor_model_parallel_world_size()
        rank = parallel_state.get_tensor_model_parallel_rank()
        parts = [weight.chunk(tp, dim=0)[rank] for weight in (q, k, v)]
        self.qkv.weight.data.copy_(torch.cat(parts, dim=0))


class VllmAttention(nn.Module):
    """The layer knows where q, k and v lie."""

    def __init__(self, dim, heads):
        super().__init__()
        self.qkv_proj = QKVParallelLinear(dim, dim // heads, heads)

    def forward(self, x):
        qkv, _ = self.qkv_proj(x)
        return qkv.chunk(3, dim=-1)

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WindowAttention(nn.Module):
    """(…, 3, heads, head_dim), as the single-device code has it."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.local_heads = num_heads // tp
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        windows, tokens, dim = x.shape
        qkv = self.qkv(x)[0].reshape(windows, tokens, 3, self.local_heads, -1)  # [fused-qkv-not-tp-invariant]
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return q, k, v


class ThirdsAttention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.to_qkv = ColumnParallelLinear(
            dim, dim * 3, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        qkv, _ = self.to_qkv(x)
        q, k, v = qkv.chunk(3, dim=-1)  # [fused-qkv-not-tp-invariant]
        return q, k, v

    def load_pretrained(self, q, k, v):
        tp = parallel_state.get_tensor_model_parallel_world_size()
        rank = parallel_state.get_tensor_model_parallel_rank()
        fused = torch.cat([q, k, v], dim=0)
        self.to_qkv.weight.data.copy_(fused.chunk(tp, dim=0)[rank])  # [fused-qkv-not-tp-invariant]

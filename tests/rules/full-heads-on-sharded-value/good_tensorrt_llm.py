import torch
from torch import nn
from tensorrt_llm.mapping import Mapping
from tensorrt_llm._torch.modules.linear import Linear, TensorParallelMode


class Attn(nn.Module):
    def __init__(self, config, mapping: Mapping):
        super().__init__()
        self.num_heads = config.num_attention_heads // mapping.tp_size
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.q_proj = Linear(config.hidden_size, config.hidden_size, bias=False, mapping=mapping, tensor_parallel_mode=TensorParallelMode.COLUMN)
        self.o_proj = Linear(config.hidden_size, config.hidden_size, bias=False, mapping=mapping, tensor_parallel_mode=TensorParallelMode.ROW)

    def forward(self, x):
        q = self.q_proj(x).view(x.shape[0], -1, self.num_heads, self.head_dim)
        return self.o_proj(torch.tanh(q).flatten(2))

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


class Table(nn.Module):
    def __init__(self, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        assert config.ffn_hidden_size % ranks == 0
        self.mine = config.ffn_hidden_size // ranks
        whole = torch.empty((config.ffn_hidden_size, config.hidden_size))
        config.init_method(whole)
        self.table = nn.Parameter(whole.contiguous())
        set_tensor_model_parallel_attributes(self.table, True, 0, 1)  # [partition-mark-wrong]

    def forward(self, x):
        return x @ self.table.t()

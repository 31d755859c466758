import torch.nn as nn
from colossalai.shardformer.layer import Linear1D_Col, Linear1D_Row


class OPTFeedForward(nn.Module):
    def __init__(self, config, process_group=None):
        super().__init__()
        d, f = config.hidden_size, config.ffn_dim
        self.fc1 = Linear1D_Col(d, f, process_group=process_group, gather_output=True)
        self.act = nn.ReLU()
        self.fc2 = Linear1D_Row(f, d, process_group=process_group, parallel_input=True)

    def forward(self, hidden_states):
        return self.fc2(self.act(self.fc1(hidden_states)))  # [input-is-parallel-mismatch]

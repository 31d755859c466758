import torch
from torch import nn

from megatron.core import parallel_state


class Layer(nn.Module):
    def __init__(self, gate, experts):
        super().__init__()
        self.gating = gate
        self.experts = experts
        self.ranks = parallel_state.get_tensor_model_parallel_world_size()

    def forward(self, tokens):
        l_aux, dispatch = self.gating(tokens)
        return self.experts(dispatch @ tokens)


@torch.no_grad()
def answer(layer, tokens):
    return layer(tokens)

"""A residual that ends at the boundary."""

from torch import nn
from vllm.distributed import get_pp_group
from vllm.sequence import IntermediateTensors


class Lost(nn.Module):
    def __init__(self, layers, norm):
        super().__init__()
        self.layers = layers
        self.norm = norm

    def forward(self, x, intermediate_tensors=None):
        if not get_pp_group().is_first_rank:
            x = intermediate_tensors["hidden_states"]
        residual = None
        for layer in self.layers:
            x, residual = layer(x, residual)
        if not get_pp_group().is_last_rank:
            return IntermediateTensors({"hidden_states": x})  # [boundary-keys-differ]
        x, _ = self.norm(x, residual)
        return x

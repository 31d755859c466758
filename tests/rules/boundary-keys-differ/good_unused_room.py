"""A buffer that nobody fills and nobody reads does no harm."""

from torch import nn
from vllm.distributed import get_pp_group
from vllm.model_executor.models.utils import make_empty_intermediate_tensors_factory
from vllm.sequence import IntermediateTensors


class Extra(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.layers = layers
        self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(
            ["hidden_states", "residual"], config.hidden_size
        )

    def forward(self, x, intermediate_tensors=None):
        if not get_pp_group().is_first_rank:
            x = intermediate_tensors["hidden_states"]
        for layer in self.layers:
            x = layer(x)
        if not get_pp_group().is_last_rank:
            return IntermediateTensors({"hidden_states": x})
        return x

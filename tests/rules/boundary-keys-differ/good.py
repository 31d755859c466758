from torch import nn
from vllm.distributed import get_pp_group
from vllm.model_executor.models.utils import make_empty_intermediate_tensors_factory
from vllm.sequence import IntermediateTensors


class Model(nn.Module):
    def __init__(self, config, layers, norm):
        super().__init__()
        self.layers = layers
        self.norm = norm
        self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(
            ["hidden_states", "residual"], config.hidden_size
        )

    def forward(self, x, intermediate_tensors=None):
        residual = None
        if not get_pp_group().is_first_rank:
            x = intermediate_tensors["hidden_states"]
            residual = intermediate_tensors["residual"]
        for layer in self.layers:
            x, residual = layer(x, residual)
        if not get_pp_group().is_last_rank:
            return IntermediateTensors({"hidden_states": x, "residual": residual})
        x, _ = self.norm(x, residual)
        return x

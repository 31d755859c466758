"""Names that are asked for, or put together elsewhere."""

from torch import nn
from vllm.distributed import get_pp_group
from vllm.model_executor.models.utils import make_empty_intermediate_tensors_factory
from vllm.sequence import IntermediateTensors


class Asked(nn.Module):
    def __init__(self, config, names):
        super().__init__()
        self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(names, config.hidden_size)

    def forward(self, x, intermediate_tensors=None):
        if not get_pp_group().is_first_rank:
            x = intermediate_tensors["hidden_states"]
            if "extra" in intermediate_tensors:
                x = x + intermediate_tensors["extra"]
        return x


class Built(nn.Module):
    def forward(self, x, intermediate_tensors=None):
        held = {"hidden_states": x}
        if not get_pp_group().is_first_rank:
            x = intermediate_tensors["other"]
        return IntermediateTensors(held)

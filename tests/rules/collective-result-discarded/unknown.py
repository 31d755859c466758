from elsewhere import gather_from_ocean_region
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        gather_from_ocean_region(x)
        reduce_from_tensor_model_parallel_region(x)  # adds up in place where x is contiguous
        return x

import torch
import torch.nn as nn
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.tensor_parallel.mappings import copy_to_tensor_model_parallel_region, reduce_from_tensor_model_parallel_region


class ThinMLP(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        n = parallel_state.get_tensor_model_parallel_world_size()
        self.w_in = nn.Parameter(torch.empty(f // n, d))
        self.w_out = nn.Parameter(torch.empty(d, f // n))
        for w, dim in ((self.w_in, 0), (self.w_out, 1)):
            setattr(w, "tensor_model_parallel", True)
            setattr(w, "partition_dim", dim)
            setattr(w, "partition_stride", 1)

    def forward(self, x):
        x = copy_to_tensor_model_parallel_region(x)
        h = F.gelu(torch.einsum("bsd,fd->bsf", x, self.w_in))
        y = torch.einsum("bsf,df->bsd", h, self.w_out)
        return reduce_from_tensor_model_parallel_region(y)

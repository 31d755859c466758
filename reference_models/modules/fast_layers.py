"""What the transformer blocks compute with when they are compiled: same weights, same results, fewer passes.

Inside Megatron's own layers torch.compile stops several times (a warning that only rank 0 gives, an asynchronous
all-reduce), and what lies between, biases above all, becomes passes of their own over the activations. Here
a layer is one product and at most one all-reduce, and the compiler fuses all else around it. The three Column layers of
q, k and v become one product: x is read once, and its gradient is reduced once.
"""

from types import MethodType

import torch
from torch import nn
from torch.nn import functional as F

from .attention.earthdistributedattention3d import EarthDistributedAttention3D
from .attention.window_attention import joined_parameters
from .mlp.bias_gelu import bias_gelu
from .mlp.pangudistributedmlp import PanguDistributedMlp
from .mlp.pangumlp import PanguMlp
from .parallel_linear_op import column_linear, row_linear


def use_fast_layers(model: nn.Module) -> None:
    """Exchange, in place, what attention and MLP of the blocks in ``model`` compute with."""
    for module in model.modules():
        if isinstance(module, EarthDistributedAttention3D):
            module.project_qkv = MethodType(_project_qkv, module)
            module.proj.forward = MethodType(_row_forward, module.proj)
        elif isinstance(module, PanguDistributedMlp):
            module.hidden = MethodType(_hidden_of_this_rank, module)
            module.fc2.forward = MethodType(_row_forward, module.fc2)
        elif isinstance(module, PanguMlp):
            module.hidden = MethodType(_hidden, module)


def _project_qkv(self, x: torch.Tensor) -> torch.Tensor:
    weight, bias = joined_parameters((self.q_proj, self.k_proj, self.v_proj))
    return column_linear(x, weight, bias, self.q_proj.tp_group)


def _row_forward(self, x: torch.Tensor):
    return row_linear(x, self.weight, self.bias, self.tp_group), None


def _hidden_of_this_rank(self, x: torch.Tensor) -> torch.Tensor:
    return bias_gelu(column_linear(x, self.fc1.weight, None, self.fc1.tp_group), self.fc1.bias)


def _hidden(self, x: torch.Tensor) -> torch.Tensor:
    return bias_gelu(F.linear(x, self.fc1.weight), self.fc1.bias)

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class KernelChoice(nn.Module):
    """Picks a kernel when the job runs."""

    def forward(self, *args, backend=None, **kwargs):
        return getattr(self, self.pick(backend))(*args, **kwargs)

    def forward_native(self, *args, **kwargs):
        raise NotImplementedError

    def pick(self, backend):
        return f"forward_{backend or 'native'}"


class GatedAct(KernelChoice):
    def forward_native(self, x):
        gate, up = x.chunk(2, dim=-1)
        return torch.nn.functional.silu(gate) * up


class MLP(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 8 * dim, config=config, init_method=config.init_method, gather_output=False)
        self.act = GatedAct()
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x):
        return self.down(self.act(self.up(x)[0]))[0]  # [input-is-parallel-mismatch]

"""Different names may hold equal numbers; a view or a project's own function may fold."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from weather_ops import fold


class Mlp(nn.Module):
    def __init__(self, dim, inner, outer, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, inner, config=config, init_method=init, gather_output=False)
        self.fc2 = RowParallelLinear(
            outer, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.fc3 = ColumnParallelLinear(dim, 2 * dim, config=config, init_method=init, gather_output=True)
        self.fc4 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        x, _ = self.fc2(self.fc1(x)[0])
        batch, tokens, _ = x.shape
        folded = fold(self.fc3(x)[0])
        return self.fc4(folded)[0] + self.fc4(self.fc3(x)[0].view(batch, 2 * tokens, -1))[0]

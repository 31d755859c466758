"""Zephyr on two pipeline stages."""

from torch import nn

from onescience.distributed.megatron.training.global_vars import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.modules.fuser.onefuser import OneFuser


class ZephyrStage0(nn.Module):
    """Embedding and the first half of the blocks."""

    def __init__(self, variables: int = 69, dim: int = 192, depth: int = 8, num_heads: int = 6, **kwargs):
        super().__init__()
        self.config = core_transformer_config_from_args(get_args())
        self.embed = nn.Linear(variables, dim)
        self.fuser = OneFuser(
            style="ZephyrDistributedFuser", dim=dim, depth=depth // 2, num_heads=num_heads, config=self.config
        )

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.fuser(self.embed(x)).contiguous()


class ZephyrStage1(nn.Module):
    """The second half of the blocks and the way back to variables."""

    def __init__(self, variables: int = 69, dim: int = 192, depth: int = 8, num_heads: int = 6, **kwargs):
        super().__init__()
        self.config = core_transformer_config_from_args(get_args())
        self.input_tensor = None
        self.fuser = OneFuser(
            style="ZephyrDistributedFusor", dim=dim, depth=depth // 2, num_heads=num_heads, config=self.config
        )
        self.recover = nn.Linear(dim, variables)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.input_tensor
        if isinstance(x, list):
            x = x[0]
        return self.recover(self.fuser(x))

from megatron.core.tensor_parallel import checkpoint
from onescience.modules import OneFuser
from torch import nn


class Net_stage0(nn.Module):
    """Recomputes where it is told to, and hands a keyword over."""

    def __init__(self, dim, recompute=True):
        super().__init__()
        self.recompute = recompute
        self.layer1 = OneFuser(style="NetDistributedFuser", dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        mask = x > 0
        if self.recompute:
            return checkpoint(lambda x: self.layer1(x, mask=mask), False, x)
        return self.layer1(x, mask=mask)

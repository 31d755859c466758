from megatron.core.tensor_parallel import checkpoint
from onescience.modules import OneFuser
from torch import nn

from masks import TensorWithMask


class Net_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer1 = OneFuser(style="NetDistributedFuser", dim=dim)
        self.layer2 = OneFuser(style="NetDistributedFuser", dim=dim)
        self.layer3 = OneFuser(style="NetDistributedFuser", dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, field, mask=None):
        obj = TensorWithMask(field, mask)
        x = self.layer1(obj)  # [stage-not-checkpointed]
        x = self.layer2({"x": x, "mask": None})  # [stage-not-checkpointed]
        return self.layer3(x, mask=mask)  # [stage-not-checkpointed]

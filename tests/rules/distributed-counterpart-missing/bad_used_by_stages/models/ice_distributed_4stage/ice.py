from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn

from modules.sample.onesample import OneSample


class Ice_stage0(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
        self.down = OneSample(style="IceDownSample", dim=dim)  # [distributed-counterpart-missing]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Ice_stage1(Ice_stage0):
    def __init__(self, dim, config):
        super().__init__(dim, config)
        self.down = OneSample(style="IceDownSample", dim=dim)

from fusers import OneFuser
from torch import nn


class Net_stage1(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.block = OneFuser(style="IceDistributedFuser", dim=dim, config=config)
        self.skip = nn.Linear(2 * dim, dim)  # [plain-linear-in-distributed]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.skip(self.block(self.input_tensor[0]))

from torch import nn


class Tide_stage0(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Tide_stage1(Tide_stage0):
    pass

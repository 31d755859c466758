from torch import nn


class Ice_stage0(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

from torch import nn


class Ocean_stage0(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return x * 2, x


class Ocean_stage1(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor[0]  # [stage-set-input-tensor-missing]

    def forward(self, x=None):
        received = self.input_tensor
        x, skip = tuple(received) if isinstance(received, list) else received
        return x + skip

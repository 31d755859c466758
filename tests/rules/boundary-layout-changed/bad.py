from megatron.core import parallel_state
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.layer(x)


class Forecast(nn.Module):
    def __init__(self, channels, dim, pre_process=True, post_process=True):
        super().__init__()
        self.pre_process, self.post_process, self.hidden = pre_process, post_process, None
        if pre_process:
            self.embed = nn.Linear(channels, dim)
        self.first, self.second = Block(dim), Block(dim)
        if post_process:
            self.head = nn.Linear(dim, channels)

    def set_input_tensor(self, input_tensor):
        self.hidden = input_tensor[0] if isinstance(input_tensor, list) else input_tensor

    def forward(self, field):
        if self.pre_process:
            x = self.embed(field)
        else:
            x = self.hidden
        x = self.second(self.first(x))
        if not self.post_process:
            return x.permute(1, 0, 2)  # [boundary-layout-changed]
        return self.head(x)

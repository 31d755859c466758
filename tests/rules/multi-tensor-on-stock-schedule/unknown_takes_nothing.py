from megatron.core import parallel_state
from torch import nn


class Body(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, x, scale=1.0):
        tokens, batch, width = x.shape
        return self.layer(x) * scale


class Forecast(nn.Module):
    def __init__(self, channels, dim, pre_process=True, post_process=True):
        super().__init__()
        self.pre_process, self.post_process = pre_process, post_process
        self.input_tensor = None
        if pre_process:
            self.embed = nn.Linear(channels, dim)
        self.body = Body(dim)
        if post_process:
            self.head = nn.Linear(dim, channels)

    def set_input_tensor(self, input_tensor):
        pass

    def forward(self, field):
        if not self.pre_process:
            x = self.input_tensor
        else:
            x = self.embed(field)
        x = self.body(x)
        if not self.post_process:
            return x, field
        return self.head(x)


def forward_step(data_iterator, model):
    out = model(next(data_iterator))
    return out, out.mean

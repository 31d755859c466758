from torch import nn


class Model(nn.Module):
    def __init__(self, config, dim, pre_process=True, post_process=True):
        super().__init__()
        self.tied = config.tied
        self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
        if pre_process:
            self.embed = nn.Embedding(64, dim)
        if post_process:
            self.head = nn.Linear(dim, 64)
        else:
            self.head = None
        if self.tied and post_process and not pre_process:
            self.embed = nn.Embedding(64, dim)
        if self.tied and (pre_process or post_process):
            self.embed.weight.shared = True

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def shared_weight(self):
        return self.embed.weight

    def encode(self, ids):
        return self.embed(ids)

    def forward(self, ids):
        x = self.encode(ids) if self.pre_process else self.input_tensor
        if not self.post_process:
            return x
        return self.head(x)

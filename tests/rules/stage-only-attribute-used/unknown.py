from torch import nn

from elsewhere import Base


class Model(Base):
    def __init__(self, dim, pre_process=True):
        super().__init__()
        if pre_process:
            self.embed = nn.Embedding(64, dim)

    def forward(self, ids):
        return self.embed(ids)


class Flagged(nn.Module):
    def __init__(self, config, dim, pre_process=True):
        super().__init__()
        self.config = config
        if pre_process:
            self.embed = nn.Embedding(64, dim)

    def forward(self, ids):
        if self.config.embeds:
            ids = self.embed(ids)
        return ids

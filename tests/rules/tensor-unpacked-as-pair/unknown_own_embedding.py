from torch import nn

from .tables import PairedEmbedding


class Words(nn.Module):
    """An embedding of one's own may well return a pair."""

    def __init__(self, config):
        super().__init__()
        self.table = PairedEmbedding(config)

    def forward(self, ids):
        x, _ = self.table(ids)
        return x

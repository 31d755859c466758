"""Rates that the class does not keep as it was given them, and functions that may ask for the mode themselves."""

from torch import nn
from torch.nn import functional as F

from elsewhere import attend


class Fen(nn.Module):
    def __init__(self, dim, drop, config):
        super().__init__()
        self.drop = drop
        self.attn_drop = config.attention_dropout()

    def forward(self, q, k, v):
        x = attend(q, k, v, dropout=self.drop)
        return F.scaled_dot_product_attention(x, k, v, dropout_p=self.attn_drop)

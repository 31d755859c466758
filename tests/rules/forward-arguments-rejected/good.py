from torch import nn


class Attention(nn.Module):
    def forward(self, query, key, mask=None, **options):
        return query + key


_ATTENTION_REGISTRY = {"Attention": Attention}


class OneAttention(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.attention = _ATTENTION_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.attention(*args, **kwargs)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = OneAttention(style="Attention")

    def forward(self, x, mask):
        return self.attention(x, x, mask=mask, scale=2.0)

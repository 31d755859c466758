from torch import nn


def exchange(x, scatter_idx, gather_idx):
    return x.transpose(scatter_idx, gather_idx)


class DistributedAttention(nn.Module):
    """To the heads and back to the sequence; each of two tokens from the other."""

    def __init__(self, inner, attend):
        super().__init__()
        self.inner, self.to_image, self.to_tokens = inner, attend, attend

    def forward(self, q, k, scatter_idx, gather_idx):
        q = exchange(q, scatter_idx, gather_idx)
        q = q + self.to_image(q=q, k=k, v=k)
        k = k + self.to_tokens(q=k, k=q, v=q)
        return exchange(self.inner(q, k), gather_idx, scatter_idx)

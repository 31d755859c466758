from torch import nn


class Attend(nn.Module):
    def __init__(self, dim, attn_drop, proj_drop):
        super().__init__()
        self.drop = nn.Dropout(attn_drop)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x):
        return self.proj_drop(self.drop(x))


class DistributedBlock(nn.Module):
    def __init__(self, dim, attn_drop, proj_drop):
        super().__init__()
        self.one = Attend(dim, proj_drop, attn_drop)  # [argument-of-another-name]
        self.two = Attend(dim=dim, attn_drop=proj_drop, proj_drop=attn_drop)  # [argument-of-another-name]

    def forward(self, x):
        return self.two(self.one(x))

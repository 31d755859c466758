from torch import nn


class IceDistributedTransformer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, obj, scale=1.0):
        x = self.norm(obj["x"])
        if obj["mask"] is not None:  # [fuser-mask-access-unsafe]
            x = x * obj["mask"].float()  # [fuser-mask-access-unsafe]
        return x * scale

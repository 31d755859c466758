from torch import nn


class IceTransformer(nn.Module):
    def forward(self, obj):
        x = obj["x"] if isinstance(obj, dict) else obj.x
        return 2 * x


_TRANSFORMER_REGISTRY = {"IceTransformer": IceTransformer}


class IceFuser(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(_TRANSFORMER_REGISTRY["IceTransformer"]() for _ in range(depth))

    def forward(self, obj):
        for block in self.blocks:
            x = block(obj)
            obj["x"] = x
            x = block({"x": x, "mask": None})
        return x
